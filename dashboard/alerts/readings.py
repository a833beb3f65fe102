"""What a rule's verdicts rest on, read from the store: the product's own figures, never computed in a second way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from zoneinfo import ZoneInfo

from django.db import connection

from dashboard.alerts.core.amounts import SECOND_NS, read_duration
from dashboard.alerts.core.facts import copy_of, readings_at, track_of
from dashboard.alerts.core.instants import week_before
from dashboard.alerts.core.measures import Measure, Shape
from dashboard.alerts.core.rule import Burn, Change, Rule, Slo
from dashboard.alerts.core.tally import Reading, Step, Tally
from dashboard.alerts.core.verdict import NOTHING, Facts
from ingest.models import EngineTarget
from ingest.read.engines import SeriesPoint, count_failures, read_series
from ingest.read.figuring import Sums
from ingest.read.runs import RunFilter
from ingest.read.summary import Question, sums_by_group
from ingest.rollups.counting import Flag, Kind
from ingest.scope import Scope

Key = tuple[str | None, bool]  # a value of the grouping, and whether it is all those beyond the bound
ALL: Key = (None, False)
KINDS = {"runs": Kind.RUN, "calls": Kind.CALL, "tools": Kind.TOOL}
MINUTE_NS, QUARTER_NS = 60 * SECOND_NS, 900 * SECOND_NS
STEPS_AT_ONCE, STEPS_OF_SERIES = 1_440, 1_000
FAILED = {Kind.RUN: Flag.FAILED, Kind.CALL: Flag.ERRED, Kind.TOOL: Flag.ERRED}
# The oldest trace that waits for its first pass, though it is due.
OVERDUE = """
    SELECT min(due_unix_ns) FROM ingest_dirty_trace WHERE project_id = %s AND tries = 0 AND due_unix_ns <= %s
"""


class Incomplete(Exception):
    """Not all of the window could be counted; the text says why."""


def complete_until(scope: Scope, now_ns: int) -> int:
    """Until when all that was received has been decomposed: now, or the age of the backlog."""
    with connection.cursor() as cursor:
        cursor.execute(OVERDUE, [scope.project_id, now_ns])
        oldest = cursor.fetchone()[0]
    return now_ns if oldest is None else min(now_ns, int(oldest))


def read_facts(
    scope: Scope, rule: Rule, slo: Slo | None, instants: Sequence[int], zone: ZoneInfo, now_ns: int
) -> dict[Key, list[Facts]]:
    """By group that anything came of: a verdict's facts at each instant. Raises BadFilter, BadSeries, Incomplete."""
    if rule.what.source == "engine":
        return _engines(scope, rule, instants, zone)
    if isinstance(rule.condition, Burn):
        return _burning(scope, rule, slo, instants, now_ns)
    window_ns = rule.window_s * SECOND_NS
    now = _at(scope, rule, instants, window_ns, now_ns)
    before: Mapping[Key, list[Reading]] = {}
    if isinstance(rule.condition, Change):
        before = _at(scope, rule, [week_before(at, zone) for at in instants], window_ns, now_ns)
    nothing = [NOTHING] * len(instants)
    return {
        key: [Facts(now=n, before=b) for n, b in zip(now.get(key, nothing), before.get(key, nothing), strict=True)]
        for key in {**now, **before}
    }


def _at(scope: Scope, rule: Rule, instants: Sequence[int], window_ns: int, now_ns: int) -> dict[Key, list[Reading]]:
    steps = read_steps(scope, rule.what, rule.where, rule.group_by, instants, (window_ns,), now_ns)
    return {key: readings_at(rule, track_of(told, None), instants) for key, told in steps.items()}


def _burning(
    scope: Scope, rule: Rule, slo: Slo | None, instants: Sequence[int], now_ns: int
) -> dict[Key, list[Facts]]:
    if slo is None:
        return {}
    windows = [window_s * SECOND_NS for window_s in rule.windows_s]
    found: dict[Key, list[dict[int, Tally]]] = defaultdict(lambda: [_empty(rule) for _ in instants])

    def note(steps: Mapping[Key, list[Step]], lengths: Sequence[int]) -> None:
        for key, told in steps.items():
            track = track_of(told, slo)
            for at, by_window in zip(instants, found[key], strict=True):
                for length in lengths:
                    by_window[length // SECOND_NS] = copy_of(track.window(at, length))

    if len(instants) == 1:  # each window by itself, as few long steps
        for length in windows:
            note(read_steps(scope, slo.what, slo.where, rule.group_by, instants, (length,), now_ns), (length,))
    else:
        note(read_steps(scope, slo.what, slo.where, rule.group_by, instants, windows, now_ns), windows)
    return {key: [Facts(tallies=by_window) for by_window in told] for key, told in found.items()}


def _empty(rule: Rule) -> dict[int, Tally]:
    return {window_s: Tally() for window_s in rule.windows_s}


def read_steps(
    scope: Scope, measure: Measure, where: Mapping[str, str], group_by: str | None, instants: Sequence[int],
    windows_ns: Sequence[int], now_ns: int,
) -> dict[Key, list[Step]]:  # fmt: skip
    """Tallies of the time that windows before these instants reach over: in one step for a single window, else by
    minute, and by quarter-hour where only long windows reach."""
    first, last, longest = min(instants), max(instants), max(windows_ns)
    ask = _asking(scope, measure, where, group_by, now_ns)
    if len(instants) == 1 and len(windows_ns) == 1:
        return ask(first - longest, last, None)
    fine_ns = max((length for length in windows_ns if length <= 6 * 3600 * SECOND_NS), default=longest)
    fine_from = first - fine_ns
    found: dict[Key, list[Step]] = defaultdict(list)
    if longest > fine_ns:
        fine_from = fine_from // QUARTER_NS * QUARTER_NS
        _extend(found, ask, first - longest, fine_from, "quarter", QUARTER_NS)
    _extend(found, ask, fine_from, last, "minute", MINUTE_NS)
    return dict(found)


def read_span(
    scope: Scope, measure: Measure, where: Mapping[str, str], group_by: str | None, from_ns: int, to_ns: int, step: str,
    now_ns: int,
) -> dict[Key, list[Step]]:  # fmt: skip
    """Tallies of a range by ``minute`` or ``quarter``, on whose borders it lies."""
    found: dict[Key, list[Step]] = defaultdict(list)
    step_ns = {"minute": MINUTE_NS, "quarter": QUARTER_NS}[step]
    _extend(found, _asking(scope, measure, where, group_by, now_ns), from_ns, to_ns, step, step_ns)
    return dict(found)


Ask = Callable[[int, int, str | None], dict[Key, list[Step]]]


def _extend(found: dict[Key, list[Step]], ask: Ask, from_ns: int, to_ns: int, step: str, step_ns: int) -> None:
    for start in range(from_ns, to_ns, STEPS_AT_ONCE * step_ns):
        for key, told in ask(start, min(start + STEPS_AT_ONCE * step_ns, to_ns), step).items():
            found[key] += told


def _asking(scope: Scope, measure: Measure, where: Mapping[str, str], group_by: str | None, now_ns: int) -> Ask:
    kind = KINDS[measure.source]
    narrowed = {name: value for name, value in where.items() if name != "min_wall"}
    min_wall_ns = read_duration(where["min_wall"]) if "min_wall" in where else None

    def ask(from_ns: int, to_ns: int, step: str | None) -> dict[Key, list[Step]]:
        wanted = RunFilter(from_unix_ns=from_ns, to_unix_ns=to_ns, min_wall_ns=min_wall_ns, **narrowed)
        told = sums_by_group(scope, Question(wanted=wanted, step=step, group_by=group_by, kinds=(kind,)), now_ns)
        if told.looked_from_ns is not None and told.looked_from_ns > from_ns:
            raise Incomplete("not all rows of the window could be counted in time; filter by what rollups are kept by")
        # Where only longer steps are kept, the range was widened to them.
        bounds = told.bounds if step else [from_ns, to_ns]
        found: dict[Key, list[Step]] = defaultdict(list)
        for (at, group, rest), sums in told.sums.items():
            tally = tally_of(sums, measure, kind)
            if tally.count:
                found[group, rest].append((bounds[at], bounds[at + 1], tally))
        return found

    return ask


def tally_of(sums: Sums, measure: Measure, kind: Kind) -> Tally:
    """What a measure is made of, of the sums of a summary: the same integers as its figures (``figures_of``)."""
    tally = Tally(count=sums.counted(kind))
    if measure.shape is Shape.SPREAD:
        tally.bins, tally.total = sums.bins(kind, measure.metric)
    elif measure.name == "calls.cache_hit_rate":
        if sums.known(kind, "cached_tokens"):
            tally.part, tally.whole = sums.sum(kind, "cached_tokens"), sums.sum(kind, "cacheable_tokens")
    elif measure.shape is Shape.SHARE:
        untold = sums.counted(kind, with_=Flag.UNTOLD) if kind is Kind.TOOL else 0
        tally.part, tally.whole = sums.counted(kind, with_=FAILED[kind]), tally.count - untold
        tally.count = tally.whole
    return tally


def _engines(scope: Scope, rule: Rule, instants: Sequence[int], zone: ZoneInfo) -> dict[Key, list[Facts]]:
    targets = EngineTarget.objects.filter(project_id=scope.project_id, enabled=True)
    if name := rule.where.get("engine"):
        targets = targets.filter(name=name)
    earlier = [week_before(at, zone) for at in instants] if isinstance(rule.condition, Change) else []
    found: dict[Key, list[Facts]] = {}
    for target in targets.order_by("name"):
        now = _of_engine(scope, target, rule, instants)
        before = _of_engine(scope, target, rule, earlier) if earlier else [NOTHING] * len(now)
        found[target.name, False] = [Facts(now=n, before=b) for n, b in zip(now, before, strict=True)]
    return found


def _of_engine(scope: Scope, target: EngineTarget, rule: Rule, instants: Sequence[int]) -> list[Reading]:
    """At each instant over the window before it, which is one step of the engine's series; windows that follow each
    other are asked for together."""
    window_ns = rule.window_s * SECOND_NS
    found: list[Reading] = []
    at = 0
    while at < len(instants):
        end = at + 1
        while end < len(instants) and end - at < STEPS_OF_SERIES and instants[end] - instants[end - 1] == window_ns:
            end += 1
        found += _together(scope, target, rule, instants[at] - window_ns, instants[end - 1])
        at = end
    return found


def _together(scope: Scope, target: EngineTarget, rule: Rule, from_ns: int, to_ns: int) -> list[Reading]:
    is_up = rule.measure == "engine.up"
    metric = "running" if is_up else rule.what.metric
    told = read_series(scope, target.pk, [metric], from_ns, to_ns, rule.window_s, rule.where.get("model"))
    points = told[0].points if told else []
    if is_up:
        failures = count_failures(scope, target.pk, from_ns, to_ns, rule.window_s * SECOND_NS)
        return [_share_up(point.scrapes, failures.get(at, 0)) for at, point in enumerate(points)]
    return [_reading(rule, point) for point in points]


def _share_up(scrapes: int, failures: int) -> Reading:
    tries = scrapes + failures
    return Reading(scrapes / tries if tries else None, tries)


def _reading(rule: Rule, point: SeriesPoint) -> Reading:
    samples = point.scrapes
    if rule.what.shape is Shape.SPREAD:
        samples = round(point.values.get("count") or 0)
    elif rule.measure == "engine.hit_rate":
        samples = round(point.values.get("queries") or 0)
    return Reading(point.values.get(rule.stat), samples)
