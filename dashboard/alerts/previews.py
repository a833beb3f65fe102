"""A rule drawn on the last week, before it is saved: its figure, its limit, and when it would have fired.

A week by minutes would take half a minute to read. So it is read by quarter-hours, and by minutes only where a shorter
window may have been out of bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashboard.alerts.core.closer import suspects
from dashboard.alerts.core.facts import facts_at, track_of
from dashboard.alerts.core.instants import DELAY_NS, week_before
from dashboard.alerts.core.labels import NONE, OTHER
from dashboard.alerts.core.measures import unit_of
from dashboard.alerts.core.replay import Replayed, most_told, replay, worst_of
from dashboard.alerts.core.rule import SECOND_NS, Absence, Burn, Change, Rule, Slo, Threshold
from dashboard.alerts.core.verdict import Facts
from dashboard.alerts.core.words import amount_words, figure_words
from dashboard.alerts.readings import ALL, MINUTE_NS, QUARTER_NS, Key, read_facts, read_span
from ingest.models import Project
from ingest.rollups.folding import zone_of
from ingest.scope import Scope

WEEK_NS = 7 * 86_400 * SECOND_NS
HALF_HOUR_NS = 2 * QUARTER_NS
QUARTER_S = 900
LINES = 3
CLOSER_MOST = 16  # quarter-hours that are read by minutes, of each group and in all twice as many


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldRow:
    group: str | None
    fired_unix_ns: int
    resolved_unix_ns: int | None
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """``chart`` is what the page draws; ``groups`` of how many there were any data; ``how`` says how closely the week
    was looked at, ``untold`` at how many of ``looks`` there was too little to tell."""

    chart: dict[str, Any]
    would: list[WouldRow]
    groups: int
    looks: int
    untold: int
    how: str


Looked = dict[Key, tuple[list[int], list[Facts]]]


def draw(project: Project, rule: Rule, slo: Slo | None, now_ns: int) -> Preview:
    """Raises BadFilter, BadSeries, Incomplete."""
    to_ns = (now_ns - DELAY_NS) // QUARTER_NS * QUARTER_NS
    if rule.what.source == "engine":
        looked, how = _engines(project, rule, to_ns, now_ns)
    else:
        looked, how = _runs(project, rule, slo, to_ns, now_ns)
    replayed = {key: replay(rule, slo, instants, facts) for key, (instants, facts) in looked.items()}
    would = [
        WouldRow(
            group=_name(rule, key), fired_unix_ns=one.fired_ns, resolved_unix_ns=one.resolved_ns,
            value=value_words(rule, one.verdict.value),
        )
        for key, told in replayed.items() for one in told.would
    ]  # fmt: skip
    looks = sum(len(told.verdicts) for told in replayed.values())
    return Preview(
        chart=_chart(rule, looked, replayed, to_ns), would=sorted(would, key=lambda row: -row.fired_unix_ns),
        groups=len(replayed), looks=looks, untold=looks - sum(told.told for told in replayed.values()), how=how,
    )  # fmt: skip


def _engines(project: Project, rule: Rule, to_ns: int, now_ns: int) -> tuple[Looked, str]:
    """Windows that follow each other."""
    wide = replace(rule, window_s=max(rule.window_s, 300))
    step_ns = wide.window_s * SECOND_NS
    instants = list(range(to_ns - WEEK_NS + step_ns, to_ns + 1, step_ns))
    facts = read_facts(Scope(project_id=project.pk), wide, None, instants, zone_of(project.zone), now_ns)
    return {key: (instants, told) for key, told in facts.items()}, f"every {wide.window_s // 60} minutes"


def _runs(project: Project, rule: Rule, slo: Slo | None, to_ns: int, now_ns: int) -> tuple[Looked, str]:
    scope, zone = Scope(project_id=project.pk), zone_of(project.zone)
    coarse = _by_quarters(rule)
    compares = isinstance(rule.condition, Change)
    from_ns = to_ns - WEEK_NS
    reach_ns = coarse.longest_s * SECOND_NS + (WEEK_NS + 4 * QUARTER_NS if compares else 0)
    what, where = (slo.what, slo.where) if slo else (rule.what, rule.where)
    steps = read_span(scope, what, where, rule.group_by, from_ns - reach_ns, to_ns, "quarter", now_ns)
    quarters = range(from_ns + QUARTER_NS, to_ns + 1, QUARTER_NS)
    looked: Looked = {}
    for key, told in steps.items():
        track = track_of(told, slo)
        facts = [facts_at(coarse, track, at, week_before(at, zone) if compares else None) for at in quarters]
        looked[key] = (list(quarters), facts)
    if coarse == rule or not isinstance(rule.condition, Threshold):
        return looked, "every quarter-hour"
    closer = sorted({
        first for told in steps.values()
        for first in suspects(rule, [step for step in told if step[0] >= from_ns], CLOSER_MOST)
    })  # fmt: skip
    for start, end in _joined(closer[-2 * CLOSER_MOST :]):
        _look_closer(scope, rule, looked, start, end, now_ns)
    return looked, "closely where anything was out of bounds"


def _by_quarters(rule: Rule) -> Rule:
    """The rule with windows of whole quarter-hours, none shorter than one."""

    def whole(seconds: int) -> int:
        return -(-seconds // QUARTER_S) * QUARTER_S

    condition = rule.condition
    if isinstance(condition, Burn):
        pairs = tuple(replace(p, long_s=whole(p.long_s), short_s=whole(p.short_s)) for p in condition.pairs)
        return replace(rule, condition=replace(condition, pairs=pairs))
    return replace(rule, window_s=whole(rule.window_s))


def _joined(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Quarter-hours that follow each other, as one stretch, and the one after: a window may reach into it."""
    found: list[tuple[int, int]] = []
    for start in starts:
        if found and found[-1][1] >= start:
            found[-1] = (found[-1][0], start + 2 * QUARTER_NS)
        else:
            found.append((start, start + 2 * QUARTER_NS))
    return found


def _look_closer(scope: Scope, rule: Rule, looked: Looked, start: int, end: int, now_ns: int) -> None:
    """Put instants by minute, or as often as the rule is evaluated, in place of quarter-hours."""
    end = min(end, next(iter(looked.values()))[0][-1])
    every_ns = rule.every_s * SECOND_NS
    instants = list(range(-(-start // every_ns) * every_ns + every_ns, end + 1, every_ns))
    if not instants:
        return
    first = start - -(-rule.window_s * SECOND_NS // MINUTE_NS) * MINUTE_NS
    steps = read_span(scope, rule.what, rule.where, rule.group_by, first, end, "minute", now_ns)
    for key, (before, facts) in looked.items():
        track = track_of(steps.get(key, []), None)
        kept = [(at, told) for at, told in zip(before, facts, strict=True) if not start < at <= end]
        made = sorted([*kept, *((at, facts_at(rule, track, at)) for at in instants)], key=lambda pair: pair[0])
        looked[key] = ([at for at, _ in made], [told for _, told in made])


def value_words(rule: Rule, value: float | None) -> str:
    if isinstance(rule.condition, Burn):
        return "–" if value is None else f"{value:.1f} times"
    return amount_words(value, rule.measure, rule.stat)


def _name(rule: Rule, key: Key) -> str | None:
    if key == ALL and rule.group_by is None:
        return None
    return OTHER if key[1] else NONE if key[0] is None else key[0]


def _chart(rule: Rule, looked: Looked, replayed: dict[Key, Replayed], to_ns: int) -> dict[str, Any]:
    bounds = list(range(to_ns - WEEK_NS, to_ns, HALF_HOUR_NS))
    is_burn = isinstance(rule.condition, Burn)
    unit = "number" if is_burn or isinstance(rule.condition, Absence) else unit_of(rule.what, rule.stat)
    limit = rule.condition.limit if isinstance(rule.condition, Threshold) else 1.0 if is_burn else None
    return {
        "unit": "rate" if unit == "number" else unit, "step_s": HALF_HOUR_NS // SECOND_NS, "limit": limit,
        "limit_words": value_words(rule, limit) if limit is not None else "",
        "start_unix_ns": [str(at) for at in bounds],
        "lines": [
            {"name": _name(rule, key) or _short(rule),
             "values": worst_of(rule, looked[key][0], replayed[key].verdicts, bounds)}
            for key in most_told(replayed)[:LINES]
        ],
        "spans": [
            [str(one.fired_ns), str(one.resolved_ns or to_ns)] for told in replayed.values() for one in told.would
        ],
    }  # fmt: skip


def _short(rule: Rule) -> str:
    if isinstance(rule.condition, Burn):
        return "burn rate, of its limit"
    return figure_words(rule.measure, rule.stat)
