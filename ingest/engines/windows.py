"""Figures of a stretch of time from the differences within it: rates, quantiles, hit rates, acceptance, aborts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from ingest.engines.differences import Buckets, Difference, Sample, difference
from ingest.engines.layout import Key
from ingest.frozen import Frozen

NS = 1_000_000_000


class Window(Frozen, frozen=True, kw_only=True):
    """What was counted in ``seconds`` of observed time: gaps in which nobody scraped are not among them."""

    seconds: float
    counts: dict[Key, float]
    histograms: dict[Key, Buckets]
    resets: int = 0

    def total(self, metric: str, model: str | None = None, part: str | None = None) -> float | None:
        """Over all series of the metric that fit; None where there are none."""
        found = [
            value for key, value in self.counts.items()
            if key.metric == metric and model in (None, key.model) and part in (None, key.part)
        ]  # fmt: skip
        return sum(found) if found else None

    def by_part(self, metric: str, model: str | None = None) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for key, value in self.counts.items():
            if key.metric == metric and key.part is not None and model in (None, key.model):
                found[key.part] += value
        return dict(found)

    def histogram(self, metric: str, model: str | None = None) -> Buckets | None:
        found = [h for key, h in self.histograms.items() if key.metric == metric and model in (None, key.model)]
        return sum(found[1:], found[0]) if found else None

    def a_second(self, metric: str, model: str | None = None) -> float | None:
        total = self.total(metric, model)
        return total / self.seconds if total is not None and self.seconds > 0 else None


EMPTY = Window(seconds=0.0, counts={}, histograms={})


def window(pairs: Iterable[Difference]) -> Window:
    """All differences together. A series that one of them does not know is known as far as the others tell."""
    seconds, resets = 0.0, 0
    counts: dict[Key, float] = defaultdict(float)
    histograms: dict[Key, Buckets] = {}
    for told in pairs:
        seconds += told.seconds
        resets += told.reset
        for key, value in told.counts.items():
            counts[key] += value
        for key, buckets in told.histograms.items():
            histograms[key] = histograms[key] + buckets if key in histograms else buckets
    return Window(seconds=seconds, counts=dict(counts), histograms=histograms, resets=resets)


def window_of(samples: Sequence[Sample], longest_gap_ns: int, metrics: Collection[str] | None = None) -> Window:
    """Of samples in the order of time. Two that lie further apart than the gap tell nothing of the time between,
    unless the server began anew and says when."""
    told = []
    for before, after in pairwise(samples):
        step = difference(before, after, metrics)
        if step.seconds * NS <= longest_gap_ns:
            told.append(step)
    return window(told)


class Quantile(Frozen, frozen=True, kw_only=True):
    """``value`` is interpolated between the bounds of its bucket; nothing finer is known. Above the last bound there
    is no upper end, and the value is that bound."""

    value: float
    low: float
    high: float | None


def quantile(buckets: Buckets | None, share: float) -> Quantile | None:
    """As Prometheus' ``histogram_quantile``, with the bucket that it lies in. None without samples or buckets."""
    if buckets is None or not buckets.counts or not buckets.counts[-1]:
        return None
    rank = share * buckets.counts[-1]
    at = next(i for i, count in enumerate(buckets.counts) if count >= rank and count > 0)
    high = buckets.bounds[at]
    low = buckets.bounds[at - 1] if at else min(0.0, high)
    if math.isinf(high):
        return Quantile(value=low, low=low, high=None)
    below = buckets.counts[at - 1] if at else 0.0
    within = buckets.counts[at] - below
    return Quantile(value=low + (high - low) * ((rank - below) / within if within else 1.0), low=low, high=high)


def hit_rate(told: Window, model: str | None = None) -> float | None:
    """Tokens (or blocks) found in the prefix cache, of those looked up in this window. None without look-ups."""
    hits, queries = told.total("prefix_hits", model), told.total("prefix_queries", model)
    if queries is None and hits is not None and (misses := told.total("prefix_misses", model)) is not None:
        queries = hits + misses
    return hits / queries if hits is not None and queries else None


class Speculation(Frozen, frozen=True, kw_only=True):
    """``accepted_length`` counts the token that every step makes anyway; ``by_position`` is the share of drafts whose
    token at that position was accepted."""

    drafts: float
    draft_tokens: float
    accepted: float
    acceptance: float | None
    accepted_length: float | None
    by_position: dict[str, float]


def speculation(told: Window, model: str | None = None) -> Speculation | None:
    drafts, tokens = told.total("spec_drafts", model), told.total("spec_draft_tokens", model)
    accepted = told.total("spec_accepted", model)
    if drafts is None or tokens is None or accepted is None:
        return None
    at = told.by_part("spec_accepted_at", model)
    positions = sorted(at, key=lambda position: (len(position), position))
    return Speculation(
        drafts=drafts, draft_tokens=tokens, accepted=accepted,
        acceptance=accepted / tokens if tokens else None,
        accepted_length=1 + accepted / drafts if drafts else None,
        by_position={position: at[position] / drafts for position in positions} if drafts else {},
    )  # fmt: skip


def finished(told: Window, model: str | None = None) -> float | None:
    """Requests that ended, whatever the reason."""
    total = told.total("finished", model)
    if total is not None:
        return total
    e2e = told.histogram("e2e", model)
    return e2e.count if e2e else None


def aborted(
    told: Window, running: tuple[float | None, float | None], model: str | None = None
) -> tuple[int, int] | None:
    """At least and at most how many requests were left by their clients after their first token.

    An engine counts a first token when it comes and everything else when a request ends, and of those left it tells
    nothing more. ``running`` is how many were in the batch at the window's two ends: each of them may have had its
    first token, or not. Exact where nothing ran at either end.
    """
    first, ended = told.histogram("ttft", model), told.histogram("e2e", model)
    if first is None or ended is None or running[0] is None or running[1] is None:
        return None
    missing = round(first.count - ended.count)
    return max(0, missing - round(running[1])), max(0, missing + round(running[0]))
