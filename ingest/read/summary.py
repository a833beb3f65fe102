"""Figures over any range: from rollups where their keys tell enough, else the same bins counted from rows.

Both ways give the same digits, since both count every item into the same bin of the same step under the same key; so
which one was taken is a matter of time only, and the answer says which. What lies between a range's ends and the next
whole minute always comes from rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ingest.costs import Pricing, Tariff
from ingest.models import Project
from ingest.prices import read_pricing
from ingest.read.attributes import find_among
from ingest.read.budget import Budget
from ingest.read.costing import cell_cost
from ingest.read.figuring import Sums, figures_of
from ingest.read.query.keys import needs_full, tells_all
from ingest.read.query.sql import item_sql
from ingest.read.reach import Reach, read_reach
from ingest.read.runs import BadFilter, RunFilter, conditions, first_day, narrowed_by
from ingest.read.values import Figures, Group, Summary, SummaryStep
from ingest.read.windows import fits, keys_narrow
from ingest.rollups.counting import Flag, Key, Kind
from ingest.rollups.folding import zone_of
from ingest.rollups.from_rows import Cells, count_rows
from ingest.rollups.kept import Waiting, read_placed
from ingest.rollups.piles import Counted, Part
from ingest.rollups.steps import SECOND_NS, Piece, cover, day_of, step_index
from ingest.rows import called_model_sql
from ingest.scope import Scope
from ingest.snapshot import snapshot

GROUPS = ("service", "environment", "version", "agent", "model", "engine", "tool", "status")
STEPS = {"minute": 60, "quarter": 900, "hour": 3600, "day": 0}
PARTS_OF_MINUTES = (10, 15, 20, 30)  # counted from rows
STEPS_MOST, GROUPS_MOST = 2_000, 200
BUDGET_S = 3.0  # for counting rows
FIRST_SLICE_NS = 3_600 * SECOND_NS
PLAIN_GROUPS = (None, "service", "environment", "agent", "status")
BEYOND_KEYS = ("tool", "session", "user", "min_wall_ns")
_DIMENSIONS: dict[str, tuple[str, ...]] = {"model": ("models", "own"), "tool": ("own",), "status": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: ``step`` is a name of STEPS or whole minutes in seconds, None for none; ``zone`` (None: the
    project's) is whose days and hours the steps are."""

    wanted: RunFilter
    step: str | None = None
    zone: str | None = None
    group_by: str | None = None
    kinds: tuple[Kind, ...] = tuple(Kind)
    budget_s: float = BUDGET_S


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedSums:
    """``bounds`` are borders of the steps, ``sums`` by step, group and whether that is the rest beyond the bound."""

    bounds: list[int]
    sums: dict[tuple[int, str | None, bool], Sums]
    looked_from_ns: int | None


def read_kinds(told: str | None) -> tuple[Kind, ...]:
    """Of what figures are asked for, as the API says it. Raises BadFilter."""
    known = {f"{kind.name.lower()}s": kind for kind in Kind}
    names = list(known) if told is None else told.split(",")
    if not set(names) <= known.keys():
        raise BadFilter(f"of={told!r}: expected {', '.join(known)}, or some of them with commas between")
    return tuple(kind for name, kind in known.items() if name in names)


def summarise(scope: Scope, asked: Question, now_ns: int) -> Summary:
    """Raises BadFilter. Without a range: the last 24 hours."""
    reading, zone_name = _read(scope, asked, now_ns)
    return _summary(reading, asked, zone_name)


@dataclass(frozen=True, slots=True)
class ByStep:
    """Begin, end and sums of each step. ``looked_from_ns`` is set where the time was up first."""

    steps: list[tuple[int, int, Sums]]
    looked_from_ns: int | None


def sums_by_step(scope: Scope, asked: Question, now_ns: int) -> ByStep:
    """For those who need no figures of the steps; without groups. Raises BadFilter."""
    reading, _ = _read(scope, asked, now_ns)
    steps = [(first, last, Sums()) for first, last in itertools.pairwise(reading.bounds)]
    for (at, _, _), sums in reading.sums.items():
        steps[at][2].merge(sums)
    return ByStep(steps, reading.looked_from_ns)


def sums_by_group(scope: Scope, asked: Question, now_ns: int) -> GroupedSums:
    """As ``sums_by_step``, of each group by itself. Raises BadFilter."""
    reading, _ = _read(scope, asked, now_ns)
    return GroupedSums(bounds=reading.bounds, sums=reading.sums, looked_from_ns=reading.looked_from_ns)


def _read(scope: Scope, asked: Question, now_ns: int) -> tuple[Reading, str]:
    zone_name = asked.zone or _project_zone(scope)
    zone = zone_of(zone_name)
    if zone.key != zone_name:
        raise BadFilter(f"zone={zone_name!r}: expected a name of the IANA time zone database, such as Europe/Berlin")
    if asked.group_by is not None and asked.group_by not in GROUPS:
        raise BadFilter(f"group_by={asked.group_by!r}: expected one of {', '.join(GROUPS)}")
    wanted = asked.wanted
    to_ns = now_ns if wanted.to_unix_ns is None else wanted.to_unix_ns
    from_ns = to_ns - 86_400 * SECOND_NS if wanted.from_unix_ns is None else wanted.from_unix_ns
    if from_ns >= to_ns:
        raise BadFilter("from and to: expected a range that ends after it begins")
    # Calls and tools count when they end, though their run ends later.
    ends = replace(wanted, from_unix_ns=from_ns, to_unix_ns=to_ns if asked.kinds == (Kind.RUN,) else None)
    wanted, attributes_from_ns = find_among(scope, ends, now_ns, asked.budget_s, narrowed_by(scope, now_ns))
    conditions(scope, wanted, now_ns)  # which refuses what it cannot read
    with snapshot() as cursor:
        reach = read_reach(cursor, scope.project_id)
        from_ns, to_ns = reach.down(from_ns), reach.up(to_ns)
        bounds = _bounds(from_ns, to_ns, asked.step, zone)
        if any(reach.down(bound) != bound for bound in bounds):
            raise BadFilter(
                f"step={asked.step!r}, zone={zone.key!r}: expected steps that are still kept of all of this range; "
                f"take a longer one, in the end days of {reach.zone.key}"
            )
        wanted = replace(wanted, from_unix_ns=from_ns, to_unix_ns=to_ns)
        reading = Reading(scope, asked, wanted, bounds, reach, now_ns, read_pricing(scope))
        reading.looked_from_ns = attributes_from_ns
        reading.read(cursor, asked.kinds)
    return reading, zone.key


def _project_zone(scope: Scope) -> str:
    return str(Project.objects.values_list("zone", flat=True).get(pk=scope.project_id))


def _bounds(from_ns: int, to_ns: int, step: str | None, zone: Any) -> list[int]:
    """Borders of the steps: the zone's midnights and, from each on, whole steps; the range's ends close them."""
    if step is None:
        return [from_ns, to_ns]
    seconds = STEPS.get(step)
    if seconds is None:
        seconds = int(step) if step.isdecimal() and len(step) < 6 else -1
        if seconds not in PARTS_OF_MINUTES and (seconds < 60 or seconds % 60 or seconds > 86_400):
            raise BadFilter(f"step={step!r}: expected one of {', '.join(STEPS)}, or seconds, of whole minutes")
    if (to_ns - from_ns) // ((seconds or 86_400) * SECOND_NS) > STEPS_MOST:
        raise BadFilter(f"step={step!r}: expected at most {STEPS_MOST} steps in the range; take a longer step")
    borders = {from_ns, to_ns}
    start, end = day_of(from_ns, zone)
    while start < to_ns and start < end:
        borders.update(range(start, end, seconds * SECOND_NS) if seconds else (start,))
        start, end = day_of(end, zone)
    return sorted(border for border in borders if from_ns <= border <= to_ns)


Place = tuple[str | None, bool, int, Tariff]  # group, whether it is the rest, flags, what its calls cost
BEYOND_BOUND: Place = (None, True, -1, ())  # what a filter cannot tell apart: its key is one of those beyond the bound


class Reading:
    """Cells that fit the question, by kind, step and group."""

    def __init__(
        self, scope: Scope, asked: Question, wanted: RunFilter, bounds: list[int], reach: Reach, now_ns: int,
        pricing: Pricing,
    ) -> None:  # fmt: skip
        self.scope, self.wanted, self.bounds, self.reach, self.now_ns = scope, wanted, bounds, reach, now_ns
        self.pricing = pricing
        # Calls are counted apart before and after a change of prices.
        self.price_bounds = sorted({*bounds, *(at for at in pricing.changes if bounds[0] < at < bounds[-1])})
        self.group_by, self.budget_s = asked.group_by, asked.budget_s
        self.narrowed = keys_narrow(wanted)
        self.sums: dict[tuple[int, str | None, bool], Sums] = {}  # by step, group, whether it is the rest
        self.made_from: dict[Kind, str] = {}
        self.looked_from_ns: int | None = None
        self.waiting: Waiting | None = None

    def read(self, cursor: Any, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            if not self.from_rollups(cursor, kind):
                self.from_rows(cursor, kind)

    def from_rollups(self, cursor: Any, kind: Kind) -> bool:
        """Whether the keys of this kind tell enough; then they are counted."""
        wanted = self.wanted
        if any(getattr(wanted, name) is not None for name in BEYOND_KEYS) or wanted.status == "open":
            return False
        if (kind is Kind.TOOL and wanted.model is not None) or not tells_all(wanted.query, kind):
            return False
        bounds = self._bounds(kind)
        pieces = self._cover(kind, bounds)
        whole = [piece for piece in pieces if piece.step is not None]
        if self.waiting is None:
            self.waiting = Waiting(cursor, self.scope.project_id, whole)
        piles = read_placed(
            cursor, self.scope.project_id, whole, bounds, kind, lambda key: self._places(kind, key), self.waiting,
            narrowed=self.narrowed,
        )  # fmt: skip
        if any(place == BEYOND_BOUND for _, place in piles):
            return False
        for (at, (group, rest, flags, tariff)), pile in piles.items():
            self._add(kind, bounds[at], group, rest, flags, tariff, pile)
        if rest := [(piece.from_ns, piece.to_ns) for piece in pieces if piece.step is None]:
            self._take(kind, bounds, self._count(cursor, kind, bounds, rest))
        self.made_from[kind] = "rollups"
        return True

    def _places(self, kind: Kind, key: Key) -> Iterable[Place]:
        """Under what a key's cells count, if they fit."""
        if key.is_other:
            return (BEYOND_BOUND,) if self.narrowed else ((None, True, key.flags, self._tariff(kind, key)),)
        if self.narrowed and not fits(self.wanted, kind, key):
            return ()
        tariff = self._tariff(kind, key)
        return ((group, False, key.flags, tariff) for group in self._groups(kind, key))

    def _bounds(self, kind: Kind) -> list[int]:
        return self.price_bounds if kind is Kind.CALL else self.bounds

    def _tariff(self, kind: Kind, key: Key) -> Tariff:
        """Calls of models that cost the same are added up together."""
        return self.pricing.tariff(key.own) if kind is Kind.CALL else ()

    def _cover(self, kind: Kind, bounds: list[int]) -> list[Piece]:
        """The whole steps between each two bounds; neighbours of one length together. Plain ones tell no model, by
        which calls cost."""
        plain = self.group_by in PLAIN_GROUPS and self.wanted.version is None and self.wanted.model is None
        plain = plain and not needs_full(self.wanted.query) and not (kind is Kind.CALL and self.pricing)
        pieces: list[Piece] = []
        for first, last in itertools.pairwise(bounds):
            for piece in cover(first, last, self.reach.days_zone, self.reach.kept, plain=plain):
                before = pieces[-1] if pieces else None
                if before and (before.step, before.to_ns) == (piece.step, piece.from_ns):
                    pieces[-1] = before._replace(to_ns=piece.to_ns)
                elif piece.from_ns < piece.to_ns:
                    pieces.append(piece)
        return pieces

    def from_rows(self, cursor: Any, kind: Kind) -> None:
        """Newest first, in slices that grow, until all is counted or the time is up."""
        self.made_from[kind] = "rows"
        budget = Budget(self.budget_s)
        bounds = self._bounds(kind)
        end, length = bounds[-1], FIRST_SLICE_NS
        first = max(bounds[0], self.reach.runs_from_ns)
        if first > bounds[0]:  # the runs themselves are gone
            self.looked_from_ns = max(first, self.looked_from_ns or first)
        while end > first:
            start = max(first, end - length)
            slices = [start, *(bound for bound in bounds if start < bound < end), end]
            cells = budget.ask(cursor, partial(self._count, cursor, kind, slices))
            if cells is None:
                self.looked_from_ns = max(end, self.looked_from_ns or end)
                return
            self._take(kind, slices, cells)
            end, length = start, length * 2

    def _count(self, cursor: Any, kind: Kind, bounds: Sequence[int], within: Sequence[tuple[int, int]] = ()) -> Cells:
        wanted = self.wanted
        # Calls and tools may end in the range though their run ends after it.
        window = replace(
            wanted,
            from_unix_ns=None if kind is not Kind.RUN else bounds[0],
            to_unix_ns=None,
            sort="newest",
            cursor=None,
        )
        where, parameters = conditions(self.scope, window, self.now_ns)
        dimensions = () if self.group_by is None else _DIMENSIONS.get(self.group_by, (self.group_by,))
        if kind is Kind.CALL and self.pricing:
            dimensions = {*dimensions, "own"}
        return count_rows(
            cursor, kind, bounds, where, parameters,
            items=_items(wanted, kind), dimensions=dimensions,
            within=within, first_day=first_day(bounds[0]),
        )  # fmt: skip

    def _take(self, kind: Kind, bounds: Sequence[int], cells: Cells) -> None:
        for (_, at, key), cell in cells.items():
            tariff = self._tariff(kind, key)
            for group in self._groups(kind, key):
                self._add(kind, bounds[at], group, key.is_other, key.flags, tariff, Counted(cell))

    def _add(
        self, kind: Kind, from_ns: int, group: str | None, rest: bool, flags: int, tariff: Tariff, part: Part
    ) -> None:
        """Count what begins at an instant, and lies within one step and between two changes of prices."""
        sums = self._sums(step_index(self.bounds, from_ns), group, rest)
        sums.add(kind, flags, part)
        if kind is Kind.CALL:
            sums.cost += cell_cost(tariff[self.pricing.era(from_ns)], flags, part)

    def _sums(self, step: int, group: str | None, rest: bool) -> Sums:
        place = (step, group, rest)
        if place not in self.sums:
            self.sums[place] = Sums()
        return self.sums[place]

    def _groups(self, kind: Kind, key: Key) -> Iterable[str | None]:
        """Under which values of the dimension something counts; a run with several models under each."""
        name = self.group_by
        if name is None or key.is_other:
            return (None,)
        if name == "status":
            return ("error" if key.flags & Flag.FAILED else "ok",)
        if name == "model":
            return {Kind.RUN: key.models or (None,), Kind.CALL: (key.own,), Kind.TOOL: ()}[kind]
        if name == "tool":
            return (key.own,) if kind is Kind.TOOL else ()
        return (getattr(key, name),)


def _items(wanted: RunFilter, kind: Kind) -> list[tuple[str, list[Any]]]:
    """What a call or tool must be itself, where models or tools are asked for."""
    if kind is Kind.RUN:
        return []
    field, column = ("model", called_model_sql("item", "run")) if kind is Kind.CALL else ("tool", "item.name")
    value = getattr(wanted, field)
    own = [] if value is None else [(f"{column} = %s", [value])]
    return own + item_sql(wanted.query, field, column)


def _summary(reading: Reading, asked: Question, zone: str) -> Summary:
    bounds = reading.bounds
    grouped: dict[tuple[str | None, bool], Sums] = {}
    for (_, group, rest), sums in reading.sums.items():
        grouped.setdefault((group, rest), Sums()).merge(sums)
    order = [name for name, _ in sorted(grouped.items(), key=_most_first)]
    shown = {name: name if at < GROUPS_MOST else (None, True) for at, name in enumerate(order)}
    totals: dict[tuple[str | None, bool], Sums] = {}
    steps: dict[int, dict[tuple[str | None, bool], Sums]] = {}
    for name in order:
        totals.setdefault(shown[name], Sums()).merge(grouped[name])
    for (step, group, rest), sums in reading.sums.items():
        steps.setdefault(step, {}).setdefault(shown[group, rest], Sums()).merge(sums)
    whole = Sums()
    by_whole = reading.group_by not in ("model", "tool")  # under these a run counts several times, or not at all
    for sums in totals.values():
        whole.merge(sums)
    return Summary(
        from_unix_ns=bounds[0],
        to_unix_ns=bounds[-1],
        zone=zone,
        step=asked.step,
        currency=reading.pricing.currency,
        group_by=asked.group_by,
        made_from="rollups" if set(reading.made_from.values()) == {"rollups"} else "rows",
        made_from_by={f"{kind.name.lower()}s": way for kind, way in reading.made_from.items()},
        looked_from_unix_ns=reading.looked_from_ns,
        runs=whole.runs if by_whole and Kind.RUN in asked.kinds else None,
        groups=list(_named(totals, asked.kinds)) if asked.group_by else [],
        total=figures_of(whole, asked.kinds) if by_whole else None,
        steps=[
            SummaryStep(
                from_unix_ns=first,
                to_unix_ns=last,
                groups=list(_named(steps.get(at, {}), asked.kinds)) if asked.group_by else [],
                total=_step_total(steps.get(at, {}), asked.kinds) if by_whole else None,
            )
            for at, (first, last) in enumerate(itertools.pairwise(bounds))
        ]
        if asked.step
        else [],
    )


def _most_first(named: tuple[tuple[str | None, bool], Sums]) -> tuple[Any, ...]:
    (value, rest), sums = named
    return rest, -sums.count, value is None, value or ""


def _named(sums: dict[tuple[str | None, bool], Sums], kinds: Sequence[Kind]) -> Iterator[Group]:
    for (value, rest), one in sorted(sums.items(), key=_most_first):
        yield Group(value=value, is_other=rest, figures=figures_of(one, kinds))


def _step_total(sums: dict[tuple[str | None, bool], Sums], kinds: Sequence[Kind]) -> Figures:
    whole = Sums()
    for one in sums.values():
        whole.merge(one)
    return figures_of(whole, kinds)
