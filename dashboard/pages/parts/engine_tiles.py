"""An engine's figures as people read them: the rows of the list, the key figures of its page, its state in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dashboard.figures import NOT_KNOWN, THIN, Figure, count, duration, percent
from ingest.engines.figures import Figures, Point, Spread
from ingest.engines.kinds import LABELS, TESTED, Kind
from ingest.engines.saturation import FULL, NEARLY_FULL, State
from ingest.read.engines import EngineRow

IN_LIST = (
    "ttft", "tpot", "itl", "e2e", "finished", "prefix_hits", "prefix_queries", "prefix_misses", "generation_tokens",
    "preemptions",
)  # fmt: skip
FEW = 20  # a quantile of fewer samples carries their count
REASONS = {
    "refused_address": "its address may not be reached", "unreachable": "cannot be reached",
    "timeout": "does not answer in time", "status": "answers with an error", "redirect": "redirects elsewhere",
    "too_large": "its page is too large", "broken_off": "its page breaks off", "not_metrics": "its page is no metrics",
    "no_known_metrics": "its page has no engine's metrics", "duplicated_series": "its page says a series twice",
    "too_many_series": "its page has too many series", "tls": "its certificate is not trusted",
    "error": "the scrape failed",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A row of the list. ``tone`` is ok, warn, bad or idle, beside words."""

    row: EngineRow
    kind: str
    tone: str
    words: str
    running: Figure
    waiting: Figure
    kv_usage: Figure
    kv_share: float | None
    kv_tone: str
    hit_rate: Figure
    ttft: Figure
    ttft_note: str
    tpot: Figure
    tokens: Figure
    requests: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    name: str
    of: str = ""
    value: Figure
    note: str = ""
    sides: Sequence[tuple[str, Figure]] = field(default_factory=tuple)


def shown(row: EngineRow) -> Shown:
    told = row.figures
    tone, words = state_words(row)
    ttft = told.spreads.get("ttft") if told else None
    gap = (told.spreads.get("tpot") or told.spreads.get("itl")) if told else None
    kv_usage = told.kv_usage if told else None
    return Shown(
        row=row, kind=kind_words(row), tone=tone, words=words, running=number(told.running if told else None),
        waiting=number(told.waiting if told else None), kv_usage=percent(kv_usage), kv_share=kv_usage,
        kv_tone=kv_tone(kv_usage), hit_rate=percent(told.hit_rate if told else None), ttft=time(ttft and ttft.p95),
        ttft_note=few(ttft), tpot=time(gap and gap.p50), tokens=rate(told.generation_tokens_per_s if told else None),
        requests=rate(told.requests_per_s if told else None),
    )  # fmt: skip


def state_words(row: EngineRow) -> tuple[str, str]:
    """The tone and the words of a target's state: how its scrapes go first, then what the engine is short of."""
    if row.state == "failing":
        return "bad", f"no metrics: {REASONS.get(row.reason or '', row.reason)}"
    if row.state == "stale":
        return "warn", "stale: nothing has come for a while"
    if row.state in ("new", "off"):
        return "idle", "waits for its first scrape" if row.state == "new" else "switched off"
    if row.figures is None:
        return "idle", "no sample in the last minutes"
    told = row.figures.saturation
    tones = {State.PREEMPTING: "bad", State.QUEUEING: "warn", State.SERVING: "ok"}
    return tones.get(told.state, "idle"), told.words


def kind_words(row: EngineRow) -> str:
    kind = Kind(row.seen_kind) if row.seen_kind in set(Kind) else None
    if kind is None:
        return ""
    return LABELS[kind] if kind in TESTED else f"{LABELS[kind]}, untested"


def kv_tone(share: float | None) -> str:
    if share is None or share < NEARLY_FULL:
        return ""
    return "bad" if share >= FULL else "warn"


def tiles(told: Figures) -> list[Tile]:
    spreads = told.spreads
    gap = spreads.get("tpot") or spreads.get("itl")
    made = [
        Tile(name="Running", value=number(told.running), sides=[("waiting", number(told.waiting))]),
        Tile(name="KV cache", of="in use", value=percent(told.kv_usage),
             sides=[("preempted", number(told.preemptions))]),
        _time("TTFT", spreads.get("ttft"), "p95"),
        _time("TPOT" if "tpot" in spreads else "ITL", gap, "p50"),
        _time("Queue", spreads.get("queue"), "p95"),
        Tile(name="Prefix hits", value=percent(told.hit_rate if told.hit_rate is not None else told.hit_rate_told),
             note="as the engine tells it" if told.hit_rate is None and told.hit_rate_told is not None else "",
             sides=[("of", number(told.prefix_queries))] if told.prefix_queries else ()),
        Tile(name="Tokens out", of="a second", value=rate(told.generation_tokens_per_s),
             sides=[("in", rate(told.prompt_tokens_per_s))]),
        Tile(name="Requests", of="a second", value=rate(told.requests_per_s), sides=[("ended", number(told.finished))]),
    ]  # fmt: skip
    if told.speculation is not None and told.speculation.draft_tokens:
        spec = told.speculation
        made.append(Tile(
            name="Drafts", of="accepted", value=percent(spec.acceptance),
            sides=[("a step", decimal(spec.accepted_length))]
        ))  # fmt: skip
    return made


def endings(told: Figures) -> list[tuple[str, Figure]]:
    """How requests ended in the window, and what was left by clients, which no engine tells by itself."""
    found = [(reason, number(value)) for reason, value in sorted(told.finished_by_reason.items()) if value]
    if told.failed:
        found.append(("failed", number(told.failed)))
    if told.rejected:
        found.append(("turned away", number(told.rejected)))
    if told.aborted and told.aborted[1]:
        least, most = told.aborted
        words = str(least) if least == most else f"{least} to {most}"
        found.append(("left by clients after their first token", Figure(words)))
    return found


def _time(name: str, told: Spread | None, main: str) -> Tile:
    if told is None or not told.count:
        return Tile(name=name, of=main, value=NOT_KNOWN, note="none in 5 min" if told else "not told")
    others = [other for other in ("p50", "p95", "p99") if other != main]
    return Tile(
        name=name, of=main, value=time(getattr(told, main)), note=few(told),
        sides=[(other, time(getattr(told, other))) for other in others],
    )  # fmt: skip


def time(point: Point | None) -> Figure:
    """A quantile of a histogram of times; above its last bucket, that it is more than that."""
    if point is None:
        return NOT_KNOWN
    figure = duration(round(point.value))
    return Figure(f">{THIN}{figure.value}", figure.unit) if point.high is None else figure


def few(told: Spread | None) -> str:
    return f"n{THIN}{told.count}" if told is not None and 0 < told.count < FEW else ""


def number(value: float | None) -> Figure:
    return NOT_KNOWN if value is None else count(round(value))


def decimal(value: float | None) -> Figure:
    return NOT_KNOWN if value is None else Figure(f"{value:.2f}")


def rate(value: float | None) -> Figure:
    """A second: one decimal below ten."""
    if value is None:
        return NOT_KNOWN
    if 0 < value < 0.05:
        return Figure("<0.1")
    return Figure(f"{value:.1f}") if 0 < value < 9.95 and value != round(value) else count(round(value))
