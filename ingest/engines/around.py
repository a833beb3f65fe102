"""What an engine was doing around one call: samples before, during and after it, and what they explain, in words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from ingest.engines.differences import SECOND_NS, Sample, difference, is_reset, process_start_s
from ingest.engines.figures import gauge
from ingest.engines.names import METRICS, Type
from ingest.engines.saturation import Load, percent, saturation
from ingest.engines.windows import Window, hit_rate, window
from ingest.frozen import Frozen

WARM_UP_S = 120
SLOW_NS, SLOW_SHARE = 500_000_000, 0.3  # of the call, until its first token
COLD_SHARE = 0.25
LONG_PROMPT_TOKENS = 512
BURST_TOKENS, BURST_TIMES = 2_048, 2.0


class Moment(Frozen, frozen=True, kw_only=True):
    """One sample, of the call's model where the page tells models apart. Totals count since the server's start."""

    at_unix_ns: int
    running: float | None
    waiting: float | None
    kv_usage: float | None
    preemptions_total: float | None
    prefix_queries_total: float | None
    prefix_hits_total: float | None
    generation_tokens_total: float | None


class CallFacts(Frozen, frozen=True, kw_only=True):
    """What is known of the call itself."""

    start_unix_ns: int
    wall_ns: int
    model: str | None = None
    ttft_ns: int | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None


class Around(Frozen, frozen=True, kw_only=True):
    """``during`` are the samples within the call: none of a call that fell between two. Counts are from ``before`` to
    ``after``, so they hold what came shortly before and after the call, too; None where one of the two is missing."""

    before: Moment | None
    during: tuple[Moment, ...]
    after: Moment | None
    most_running: float | None
    most_waiting: float | None
    most_kv_usage: float | None
    preempted: float | None
    hit_rate: float | None
    prompt_tokens: float | None
    computed_tokens: float | None
    started_before_ns: int | None
    restarted: bool
    words: tuple[str, ...]
    slow_first_token: bool


def around(samples: Sequence[Sample], call: CallFacts, gap_ns: int) -> Around:
    """``samples`` are in the order of time; those further than the gap from the call tell nothing of it."""
    start, end = call.start_unix_ns, call.start_unix_ns + call.wall_ns
    samples = samples[bisect_left(samples, start - gap_ns, key=_at) : bisect_right(samples, end + gap_ns, key=_at)]
    model = _model(samples, call.model)
    first = [s for s in samples if s.at_unix_ns <= start][-1:]
    within = [s for s in samples if start < s.at_unix_ns <= end]
    last = [s for s in samples if s.at_unix_ns > end][:1]
    told = _window([*first, *within, *last]) if first and last else None
    seen = [moment(s, model) for s in within]
    # A short call has only its neighbours to tell of it.
    spoken = seen or [moment(s, model) for s in (*first, *last)]
    found = Around(
        before=moment(first[0], model) if first else None, during=tuple(seen),
        after=moment(last[0], model) if last else None, most_running=_most(m.running for m in spoken),
        most_waiting=_most(m.waiting for m in spoken), most_kv_usage=_most(m.kv_usage for m in spoken),
        preempted=told.total("preemptions", model) if told else None, hit_rate=hit_rate(told, model) if told else None,
        prompt_tokens=told.total("prompt_tokens", model) if told else None,
        computed_tokens=_computed(told, model) if told else None,
        started_before_ns=_started(samples, start), restarted=bool(told and told.resets), words=(),
        slow_first_token=is_slow(call),
    )  # fmt: skip
    return replace(found, words=tuple(_words(found, call)))


def _at(sample: Sample) -> int:
    return sample.at_unix_ns


def is_slow(call: CallFacts) -> bool:
    """Whether its first token took long, for itself and for the call."""
    return call.ttft_ns is not None and call.ttft_ns >= SLOW_NS and call.ttft_ns >= call.wall_ns * SLOW_SHARE


def moment(sample: Sample, model: str | None) -> Moment:
    return Moment(
        at_unix_ns=sample.at_unix_ns, running=gauge(sample, "running", model), waiting=gauge(sample, "waiting", model),
        kv_usage=gauge(sample, "kv_usage", model), preemptions_total=total(sample, "preemptions", model),
        prefix_queries_total=total(sample, "prefix_queries", model),
        prefix_hits_total=total(sample, "prefix_hits", model),
        generation_tokens_total=total(sample, "generation_tokens", model),
    )  # fmt: skip


def total(sample: Sample, metric: str, model: str | None) -> float | None:
    """A counter as it stands."""
    assert METRICS[metric].type is Type.COUNTER
    told = [
        value for slot in sample.layout.slots_of(metric)
        if model in (None, slot.key.model) and (value := sample.value(slot)) is not None
    ]  # fmt: skip
    return sum(told) if told else None


def _words(found: Around, call: CallFacts) -> list[str]:
    """What may have held the call up, the weightiest first; nothing where nothing did."""
    words = []
    load = Load(
        running=found.most_running,
        waiting=found.most_waiting,
        kv_usage=found.most_kv_usage,
        preemptions=found.preempted,
    )
    said = saturation(load)
    if said.is_trouble:
        words.append(said.words if found.during else f"{said.words}, as of the scrapes before and after")
    elif found.most_kv_usage is not None and found.most_kv_usage >= 0.9:
        words.append(f"KV cache {percent(found.most_kv_usage)}")
    if found.restarted:
        words.append("restarted: the engine began anew around this call")
    elif found.started_before_ns is not None and found.started_before_ns < WARM_UP_S * SECOND_NS:
        words.append(f"warm-up: the engine had started {found.started_before_ns / 1e9:.0f} s before")
    if (cold := _cold(found, call)) is not None:
        words.append(cold)
    if (burst := _burst(found, call)) is not None:
        words.append(burst)
    return words


def _cold(found: Around, call: CallFacts) -> str | None:
    """By the call's own count, else by the engine's counters around it."""
    if (call.input_tokens or 0) < LONG_PROMPT_TOKENS:
        return None
    if call.cached_tokens is not None:
        if call.cached_tokens >= (call.input_tokens or 0) * COLD_SHARE:
            return None
        return f"cold cache: {call.cached_tokens} of {call.input_tokens} prompt tokens were cached"
    if found.hit_rate is not None and found.hit_rate < COLD_SHARE:
        return f"cold cache: of the prompt tokens around this call {percent(found.hit_rate)} were found"
    return None


def _burst(found: Around, call: CallFacts) -> str | None:
    """Prompts of others, computed meanwhile: a step that prefills them holds everybody up. There is always some of
    that; it is worth a word where the call was slow."""
    if not found.slow_first_token or found.computed_tokens is None or call.input_tokens is None:
        return None
    own = call.input_tokens - (call.cached_tokens or 0)
    others = found.computed_tokens - own
    if others < BURST_TOKENS or others < own * BURST_TIMES:
        return None
    return f"a burst of prompts: {others:.0f} prompt tokens of other requests were computed around this call"


def _computed(told: Window, model: str | None) -> float | None:
    """Prompt tokens that no cache had."""
    by_source = told.by_part("prompt_tokens_by_source", model)
    if "local_compute" in by_source:
        return by_source["local_compute"]
    prompt, hits = told.total("prompt_tokens", model), told.total("prefix_hits", model)
    return None if prompt is None else prompt - (hits or 0.0)


def _window(samples: Sequence[Sample]) -> Window:
    if len(samples) == 2 or not any(is_reset(a, b) for a, b in pairwise(samples)):
        return window([difference(samples[0], samples[-1])])
    return window(difference(a, b) for a, b in pairwise(samples))


def _started(samples: Sequence[Sample], start_ns: int) -> int | None:
    """How long before the call the server's process had begun, by the first page after the call's start that tells,
    else the last before it."""
    later = [sample for sample in samples if sample.at_unix_ns >= start_ns]
    for sample in (*later, *samples[::-1]):
        told = process_start_s(sample)
        if told is not None:
            age_ns = start_ns - round(told * SECOND_NS)
            return age_ns if age_ns >= 0 else None
    return None


def _model(samples: Sequence[Sample], model: str | None) -> str | None:
    """The call's model, if the engine's pages name it; else the whole page speaks for it."""
    return model if any(model in sample.layout.models for sample in samples) else None


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
