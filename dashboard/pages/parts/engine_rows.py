"""What the engines were doing during a run's calls: the rows of the run page, and the pairs of a call's panel."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.figures import Figure, duration, percent, share_of
from dashboard.pages.parts.engine_tiles import kv_tone, number
from dashboard.pages.parts.rounds import labels
from dashboard.pages.parts.span_panel import Pair
from ingest.engines.around import Around
from ingest.engines.saturation import Load, saturation
from ingest.read.engine_state import EngineState
from ingest.read.values import CallRow, RunDetail

JOINED = {
    "engine span": "by its span",
    "server address": "by its address",
    "model": "the only one that serves the model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A call and its engine. ``tone`` is warn where something may have held the call up. ``hits`` is the call's own
    share of cached prompt tokens, ``engine_hits`` that of all requests around it, by the engine's counters."""

    label: str
    span_id: str
    engine_id: int
    engine: str
    joined: str
    tone: str
    words: str
    ttft: Figure
    running: Figure
    waiting: Figure
    kv_usage: Figure
    kv_tone: str
    hits: Figure
    engine_hits: Figure


def rows(run: RunDetail) -> list[Row]:
    """One for each call whose engine is known and was scraped around it."""
    named = labels(run.calls)
    return [_row(call, call.engine_state, named[call.span_id]) for call in run.calls if call.engine_state is not None]


def pairs(call: CallRow) -> list[Pair]:
    joined: EngineState | None = call.engine_state
    if joined is None:
        return []
    state = joined.state
    when = "between two scrapes" if not state.during else "at most" if len(state.during) > 1 else "once seen"
    made = [
        Pair(label="Requests in its batch", value=number(state.most_running), note=when),
        Pair(label="Requests in its queue", value=number(state.most_waiting), note=when),
        Pair(label="KV cache in use", value=percent(state.most_kv_usage), note=when),
        Pair(label="Prefix hits, all requests", value=percent(state.hit_rate), note="by its counters"),
    ]
    if state.preempted:
        made.append(Pair(label="Preempted meanwhile", value=number(state.preempted)))
    return made


def _row(call: CallRow, joined: EngineState, label: str) -> Row:
    state = joined.state
    return Row(
        label=label, span_id=call.span_id, engine_id=joined.engine_id, engine=joined.engine_name,
        joined=JOINED[joined.joined_by], tone="warn" if state.words else "ok", words=words(state, call),
        ttft=duration(call.ttft_ns), running=number(state.most_running), waiting=number(state.most_waiting),
        kv_usage=percent(state.most_kv_usage), kv_tone=kv_tone(state.most_kv_usage),
        hits=percent(share_of(call.cached_tokens, call.input_tokens)), engine_hits=percent(state.hit_rate),
    )  # fmt: skip


def words(state: Around, call: CallRow) -> str:
    """A sentence: what coincided with a slow first token, or what was the matter, or how it stood."""
    if not state.words:
        return _calm(state)
    said = "; ".join(state.words)
    if state.slow_first_token:
        return f"The first token took {duration(call.ttft_ns)} while: {said}."
    return f"{said[0].upper()}{said[1:]}."


def _calm(state: Around) -> str:
    told = saturation(Load(running=state.most_running, waiting=state.most_waiting, kv_usage=state.most_kv_usage)).words
    where = "" if state.during else ", as of the scrapes before and after"
    return f"{told[0].upper()}{told[1:]}{where}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One figure of the engine over the scrapes around a call, as a line; ``band`` is the call, in per cent."""

    label: str
    line: str
    value: Figure
    band_from: str
    band_width: str


STRIP_WIDTH, STRIP_HEIGHT = 200, 26


def strips(call: CallRow) -> list[Strip]:
    """What several scrapes tell; one alone draws no line."""
    joined: EngineState | None = call.engine_state
    if joined is None:
        return []
    state = joined.state
    moments = [m for m in (state.before, *state.during, state.after) if m is not None]
    if len(moments) < 2:
        return []
    first, last = moments[0].at_unix_ns, moments[-1].at_unix_ns
    start = min(1.0, max(0.0, (call.start_unix_ns - first) / (last - first)))
    end = min(1.0, max(start, (call.start_unix_ns + call.wall_ns - first) / (last - first)))
    told = (
        ("Running", [(m.at_unix_ns, m.running) for m in moments], number(state.most_running), None),
        ("Waiting", [(m.at_unix_ns, m.waiting) for m in moments], number(state.most_waiting), None),
        ("KV cache", [(m.at_unix_ns, m.kv_usage) for m in moments], percent(state.most_kv_usage), 1.0),
    )
    return [
        Strip(
            label=label, line=_line(points, first, last, most), value=value,
            band_from=f"{start * STRIP_WIDTH:.1f}", band_width=f"{max(1.5, (end - start) * STRIP_WIDTH):.1f}",
        )
        for label, points, value, most in told if sum(v is not None for _, v in points) > 1
    ]  # fmt: skip


def _line(points: list[tuple[int, float | None]], first: int, last: int, most: float | None) -> str:
    """A path from zero up, so that strips of one figure can be compared."""
    top = most or max(1.0, *(value for _, value in points if value is not None))
    xy = [
        f"{(at - first) / (last - first) * STRIP_WIDTH:.1f} {STRIP_HEIGHT - 2 - value / top * (STRIP_HEIGHT - 4):.1f}"
        for at, value in points if value is not None
    ]  # fmt: skip
    return "M" + "L".join(xy)
