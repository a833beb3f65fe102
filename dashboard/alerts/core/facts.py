"""From steps of time to the facts of verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .rule import SECOND_NS, Burn, Rule, Slo
from .tally import Reading, Step, Tally, Track, good_of, read_tally
from .verdict import NOTHING, Facts


def track_of(steps: Iterable[Step], slo: Slo | None) -> Track:
    """Steps of a rule's measure; of an objective's, what of them was bad."""
    if slo is None:
        return Track(steps)
    return Track((first, last, good_of(tally, slo.limit_ns)) for first, last, tally in steps)


def facts_at(rule: Rule, track: Track, at_ns: int, before_ns: int | None = None) -> Facts:
    """The facts of an instant; ``before_ns`` is the one that it is compared with."""
    if isinstance(rule.condition, Burn):
        return Facts(tallies={window_s: copy_of(track.window(at_ns, window_s * SECOND_NS))
                              for window_s in rule.windows_s})  # fmt: skip
    before = NOTHING if before_ns is None else reading_at(rule, track, before_ns)
    return Facts(now=reading_at(rule, track, at_ns), before=before)


def reading_at(rule: Rule, track: Track, at_ns: int) -> Reading:
    return read_tally(track.window(at_ns, rule.window_s * SECOND_NS), rule.what, rule.stat, rule.window_s)


def readings_at(rule: Rule, track: Track, instants: Sequence[int]) -> list[Reading]:
    return [reading_at(rule, track, at_ns) for at_ns in instants]


def copy_of(tally: Tally) -> Tally:
    """A window moves on; this does not."""
    return Tally(count=tally.count, part=tally.part, whole=tally.whole)
