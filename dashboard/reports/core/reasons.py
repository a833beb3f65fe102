"""The main reason of a service's change, in a few words for a table's cell. Pure."""

from __future__ import annotations

from dashboard import figures
from dashboard.reports.core.causes import Cause, Why
from dashboard.reports.core.facts import Facts
from ingest.rollups.counting import Kind

STAGES = {
    "prefill": "prefill", "decode": "decode", "tool_parsing": "tool parsing", "tool_execution": "its tools",
    "re_encoding": "re-encoding", "continue_decode": "continue decode", "queue": "the engine’s queue",
    "transport": "transport", "model_unsplit": "unsplit model time", "orchestration": "its own code",
}  # fmt: skip
MUCH = 0.05  # more or fewer runs, for it to be said


def short_reason(cause: Cause | None, facts: Facts) -> str:
    if cause is None:
        before, after = facts.counts(Kind.RUN)
        if not before:
            return "new this week"
        if not after:
            return "no runs this week"
        if abs(after - before) < MUCH * before:
            return "none beyond the noise"
        return f"{'more' if after > before else 'fewer'} runs, none slower"
    change = cause.change
    if change is None or change.before is None or change.after is None:
        return f"{STAGES[cause.stage]} {'longer' if facts.moved > 0 else 'shorter'}"
    match cause.why:
        case Why.MODEL_SWAPPED:
            return f"model {cause.former} to {cause.thing}"
        case Why.TOOL_TIME:
            return f"{cause.thing} {_time(change.before)} to {_time(change.after)}"
        case Why.TPOT:
            return f"output token {_time(change.before)} to {_time(change.after)}"
        case Why.CACHE:
            return f"cache hits {figures.percent(change.before)} to {figures.percent(change.after)}"
        case Why.TOOL_OFTEN:
            return f"{cause.thing} {change.before:.1f} to {change.after:.1f} times a run"
        case Why.CALLS:
            return f"{change.before:.1f} to {change.after:.1f} calls a run"
        case _:
            which = "input" if cause.why is Why.INPUT else "output"
            return f"{which} {figures.grouped(round(change.before))} to {figures.grouped(round(change.after))} tokens"


def _time(ns: float) -> str:
    return str(figures.duration(round(ns)))
