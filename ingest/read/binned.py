"""Sums of whole steps under several dimensions at once: for those who compare, and need the bins themselves.

One pass over the cells of a kind counts each under all the places that the caller names for its key, so that figures by
service, by tool and by both cost one question, not three. The sums are those that a summary makes its figures of: the
same digits, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.costs import Pricing
from ingest.prices import read_pricing
from ingest.read.figuring import Sums
from ingest.read.reach import Reach, read_reach
from ingest.read.runs import BadFilter, RunFilter
from ingest.read.summary import Place, Question, Reading
from ingest.rollups.counting import Key, Kind
from ingest.rollups.kept import Waiting
from ingest.rollups.steps import Piece
from ingest.scope import Scope
from ingest.snapshot import snapshot

PlacesOf = Callable[[Kind, Key], Iterable[Hashable]]
Binned = dict[Hashable, Sums]


@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedQuestion:
    """Steps between ascending ``bounds`` (Unix ns, on whole minutes). ``plain`` cells are a quarter as many and tell no
    version, model, engine or tool. Keys beyond a day's bound have none of these either and say so (``is_other``)."""

    bounds: Sequence[int]
    places_of: PlacesOf
    kinds: tuple[Kind, ...] = tuple(Kind)
    plain: bool = False


def read_binned(scope: Scope, asked: Sequence[BinnedQuestion], now_ns: int) -> list[list[Binned]]:
    """For each question, of each of its steps the sums by place; all from one snapshot.

    Raises BadFilter where the steps are no longer kept as fine as asked.
    """
    with snapshot() as cursor:
        reach, pricing = read_reach(cursor, scope.project_id), read_pricing(scope)
        if any(reach.down(bound) != bound for one in asked for bound in one.bounds):
            raise BadFilter(f"of that time only whole days of {reach.zone.key} are kept; ask in that zone")
        first, last = min(one.bounds[0] for one in asked), max(one.bounds[-1] for one in asked)
        waiting = Waiting(cursor, scope.project_id, [Piece(None, first, last)])
        return [_read(cursor, one, _ByPlaces(scope, one, reach, now_ns, pricing, waiting)) for one in asked]


def _read(cursor: Any, asked: BinnedQuestion, reading: _ByPlaces) -> list[Binned]:
    reading.read(cursor, asked.kinds)
    steps: list[Binned] = [{} for _ in asked.bounds[1:]]
    for (at, place, _), sums in reading.sums.items():
        steps[at].setdefault(place, Sums()).merge(sums)
    return steps


class _ByPlaces(Reading):
    """Groups by whatever the caller tells apart, keys beyond the bound among them."""

    def __init__(
        self, scope: Scope, asked: BinnedQuestion, reach: Reach, now_ns: int, pricing: Pricing, waiting: Waiting
    ) -> None:
        wanted = RunFilter(from_unix_ns=asked.bounds[0], to_unix_ns=asked.bounds[-1])
        question = Question(wanted=wanted, group_by=None if asked.plain else "model", kinds=asked.kinds)
        super().__init__(scope, question, wanted, list(asked.bounds), reach, now_ns, pricing)
        self.places_of, self.waiting = asked.places_of, waiting

    def _places(self, kind: Kind, key: Key) -> Iterable[Place]:
        tariff = self._tariff(kind, key)
        return ((place, key.is_other, key.flags, tariff) for place in self._groups(kind, key))

    def _groups(self, kind: Kind, key: Key) -> Iterable[Any]:
        return self.places_of(kind, key)
