"""Why something got slower or faster: the largest part of the change, and beneath it the figure that moved. Pure.

The rules, in this order: a service's models were exchanged; else the stage group that moved most is named, and what
in it moved beyond the noise: of tool execution a tool that is slower or asked for more often, of reading (prefill and
re-encoding) a colder cache, more calls a run or a longer input, of writing longer answers or slower ones. Where
nothing beneath is more than noise, the stage alone is named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from dashboard.reports.core.facts import Facts, Weeks
from dashboard.reports.core.noise import CLAIM_Z, LEAST_CHANGE, Change, share_change
from dashboard.reports.core.parts import Cause as Where
from dashboard.reports.core.parts import Split
from ingest.rollups.counting import Kind

GROUPS: dict[str, tuple[str, ...]] = {
    "tools": ("tool_execution",),
    "reading": ("prefill", "re_encoding"),
    "writing": ("decode", "continue_decode"),
    "queue": ("queue",),
    "transport": ("transport",),
    "unsplit": ("model_unsplit",),
    "own": ("orchestration", "tool_parsing"),
}
MOVED_SHARE = 0.10  # of a service's runs, for its models to have been exchanged
LEAST_OFTEN = 0.10  # calls a run


class Why(StrEnum):
    MODEL_SWAPPED = "model_swapped"
    TOOL_TIME = "tool_time"
    TOOL_OFTEN = "tool_often"
    CACHE = "cache"
    CALLS = "calls"
    INPUT = "input"
    OUTPUT = "output"
    TPOT = "tpot"
    STAGE = "stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """``thing`` is a tool's name, or the model that took over from ``former``. ``change`` is the figure that moved."""

    why: Why
    service: str | None
    stage: str
    thing: str | None = None
    former: str | None = None
    change: Change | None = None
    share: str = ""  # of a quantile


def explain(
    service: str | None, weeks: Weeks, split: Split, direction: int, only: str | None = None
) -> Cause:
    """The cause of a service's change in a direction, 1 for slower, -1 for faster; of one stage's if ``only`` it
    moved."""
    by_group = {
        group: sum(
            split.ns(cause=where, service=service, owner=owner) for where in (Where.MODELS, Where.WITHIN)
            for owner in owners
        )
        for group, owners in GROUPS.items()
    }  # fmt: skip
    group = max(by_group, key=lambda name: direction * by_group[name])
    if only is not None:
        group = next(name for name, owners in GROUPS.items() if only in owners)
    stage = only or max(GROUPS[group], key=lambda owner: direction * split.ns(service=service, owner=owner))
    if service is None:  # the API cannot ask for those without a service alone, so nothing beneath could be checked
        return Cause(why=Why.STAGE, service=service, stage=stage)
    swapped = _swapped(service, stage, weeks, split, direction)
    if swapped:
        return swapped
    finders = {"tools": _tool, "reading": _reading, "writing": _writing}
    found = finders[group](service, stage, weeks, direction) if group in finders else None
    return found or Cause(why=Why.STAGE, service=service, stage=stage)


def _swapped(service: str | None, stage: str, weeks: Weeks, split: Split, direction: int) -> Cause | None:
    mixed, within = (split.ns(cause=where, service=service) for where in (Where.MODELS, Where.WITHIN))
    moved = mixed + within
    shares = {model: _model_share(service, model, weeks) for model in _models(service, weeks)}
    risen = [m for m, s in shares.items() if s.rose and (s.difference or 0) >= MOVED_SHARE]
    fallen = [m for m, s in shares.items() if s.fell and -(s.difference or 0) >= MOVED_SHARE]
    if not risen or not fallen or direction * mixed * 2 < direction * moved:
        return None
    taker = max(risen, key=lambda m: shares[m].difference or 0)
    return Cause(
        why=Why.MODEL_SWAPPED, service=service, stage=stage, thing=taker,
        former=min(fallen, key=lambda m: shares[m].difference or 0), change=shares[taker],
    )  # fmt: skip


def _models(service: str | None, weeks: Weeks) -> list[str]:
    return sorted({model for place in weeks.places("unit", service) for model in place[2]})


def _model_share(service: str | None, model: str, weeks: Weeks) -> Change:
    units = [(place, weeks.facts(place).counts(Kind.RUN)) for place in weeks.places("unit", service)]
    told = [
        (sum(n[at] for place, n in units if model in place[2]), sum(n[at] for _, n in units))
        for at in range(2)
    ]
    return share_change(told[0], told[1])


def _tool(service: str | None, stage: str, weeks: Weeks, direction: int) -> Cause | None:
    runs = weeks.facts(("service", service)).counts(Kind.RUN)
    best: tuple[float, Cause] | None = None
    for place in sorted(weeks.places("service tool", service), key=str):
        mine, tool = weeks.facts(place), place[2]
        counts, mean = mine.counts(Kind.TOOL), mine.mean(Kind.TOOL, "wall")
        if not all(counts) or not all(runs) or mean.before is None or mean.after is None:
            continue
        often = counts[0] / runs[0], counts[1] / runs[1]
        slower = sum(often) / 2 * (mean.after - mean.before) * direction
        more = (mean.before + mean.after) / 2 * (often[1] - often[0]) * direction
        cause = _tool_time(service, stage, tool, mine, direction) if slower >= more else (
            Cause(why=Why.TOOL_OFTEN, service=service, stage=stage, thing=tool, change=_often(counts, runs))
        )  # fmt: skip
        if cause and cause.change and cause.change.claimed and (best is None or slower + more > best[0]):
            best = slower + more, cause
    return best[1] if best and best[0] > 0 else None


def _tool_time(service: str | None, stage: str, tool: str | None, mine: Facts, direction: int) -> Cause | None:
    for share in ("p50", "p95"):
        change = mine.quantile(Kind.TOOL, "wall", share)
        if change.claimed and change.rose == (direction > 0):
            return Cause(why=Why.TOOL_TIME, service=service, stage=stage, thing=tool, change=change, share=share)
    return None


def _often(counts: tuple[int, int], runs: tuple[int, int]) -> Change:
    """Calls a run: counts of events, whose deviation is their root."""
    was, now = counts[0] / runs[0], counts[1] / runs[1]
    error = math.hypot(math.sqrt(counts[0]) / runs[0], math.sqrt(counts[1]) / runs[1])
    claimed = abs(now - was) >= LEAST_OFTEN * was and abs(now - was) > CLAIM_Z * error
    return Change(
        before=was, after=now, before_count=counts[0], after_count=counts[1], low=now - was - 1.96 * error,
        high=now - was + 1.96 * error, claimed=claimed,
    )  # fmt: skip


def _reading(service: str | None, stage: str, weeks: Weeks, direction: int) -> Cause | None:
    facts = weeks.facts(("service", service))
    hits = facts.cache_hits
    if hits.claimed and hits.fell == (direction > 0):
        return Cause(why=Why.CACHE, service=service, stage=stage, change=hits)
    return _more_calls(service, stage, facts, direction) or _tokens(service, stage, facts, Why.INPUT, direction)


def _writing(service: str | None, stage: str, weeks: Weeks, direction: int) -> Cause | None:
    facts = weeks.facts(("service", service))
    found = _more_calls(service, stage, facts, direction) or _tokens(service, stage, facts, Why.OUTPUT, direction)
    if found:
        return found
    tpot = facts.quantile(Kind.CALL, "tpot", "p50")
    if tpot.claimed and tpot.rose == (direction > 0):
        return Cause(why=Why.TPOT, service=service, stage=stage, change=tpot, share="p50")
    return None


def _more_calls(service: str | None, stage: str, facts: Facts, direction: int) -> Cause | None:
    runs = facts.counts(Kind.RUN)
    if not all(runs):
        return None
    often = _often(facts.counts(Kind.CALL), runs)
    if often.claimed and often.rose == (direction > 0):
        return Cause(why=Why.CALLS, service=service, stage=stage, change=often)
    return None


def _tokens(service: str | None, stage: str, facts: Facts, why: Why, direction: int) -> Cause | None:
    """Of all runs, or not at all: a mean over those that tell would be of others than the page's counts."""
    metric = "input_tokens" if why is Why.INPUT else "output_tokens"
    if any(week.known(Kind.RUN, metric) != week.runs for week in (facts.before, facts.after)):
        return None
    tokens = facts.mean(Kind.RUN, metric)
    if tokens.claimed and tokens.rose == (direction > 0):
        return Cause(why=why, service=service, stage=stage, change=tokens)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A service of which there were more runs, or fewer, and what that did to the mean of all runs."""

    service: str | None
    share: Change
    ns: int


def shifts(weeks: Weeks, split: Split) -> list[Shift]:
    """Services whose share of the runs moved beyond the noise, those that moved the mean most first; none where the mix
    moved the mean by less than is worth a word."""
    if abs(split.ns(cause=Where.SERVICES)) < LEAST_CHANGE * split.before_ns:
        return []
    totals = weeks.facts(("all",)).counts(Kind.RUN)
    found = []
    for service in weeks.names("service"):
        counts = weeks.facts(("service", service)).counts(Kind.RUN)
        share = share_change((counts[0], totals[0]), (counts[1], totals[1]))
        if share.claimed:
            found.append(Shift(service=service, share=share, ns=split.ns(cause=Where.SERVICES, service=service)))
    return sorted(found, key=lambda shift: -abs(shift.ns))
