"""Sums of whole steps under several dimensions at once: for those who compare, and need the bins themselves.

One pass over the cells of a kind counts each under all the places that the caller names for its key, so that figures by
service, by tool and by both cost one question, not three. The sums are those that a summary makes its figures of: the
same digits, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

from ingest.prices import read_pricing
from ingest.read.figuring import Sums
from ingest.read.reach import read_reach
from ingest.read.runs import BadFilter, RunFilter
from ingest.read.summary import Place, Question, Reading
from ingest.rollups.counting import Key, Kind
from ingest.scope import Scope
from ingest.snapshot import snapshot

PlacesOf = Callable[[Kind, Key], Iterable[Hashable]]
Binned = dict[Hashable, Sums]


def read_binned(
    scope: Scope,
    bounds: Sequence[int],
    kinds: Collection[Kind],
    places_of: PlacesOf,
    now_ns: int,
    *,
    plain: bool = False,
) -> list[Binned]:
    """For each step between ascending ``bounds`` (Unix ns, on whole minutes) the sums by place.

    ``plain`` cells are a quarter as many and tell no version, model, engine or tool. Keys beyond a day's bound have
    none of these either and say so (``is_other``). Raises BadFilter where the steps are no longer kept as fine as
    asked.
    """
    asked = Question(
        wanted=RunFilter(from_unix_ns=bounds[0], to_unix_ns=bounds[-1]), group_by=None if plain else "model",
        kinds=tuple(kinds),
    )  # fmt: skip
    with snapshot() as cursor:
        reach = read_reach(cursor, scope.project_id)
        if any(reach.down(bound) != bound for bound in bounds):
            raise BadFilter(f"of that time only whole days of {reach.zone.key} are kept; ask in that zone")
        reading = _ByPlaces(
            scope, asked, asked.wanted, list(bounds), reach, now_ns, read_pricing(scope), places_of=places_of
        )
        reading.read(cursor, asked.kinds)
    steps: list[Binned] = [{} for _ in bounds[1:]]
    for (at, place, _), sums in reading.sums.items():
        steps[at].setdefault(place, Sums()).merge(sums)
    return steps


class _ByPlaces(Reading):
    """Groups by whatever the caller tells apart, keys beyond the bound among them."""

    def __init__(self, *told: Any, places_of: PlacesOf) -> None:
        super().__init__(*told)
        self.places_of = places_of

    def _places(self, kind: Kind, key: Key) -> Iterable[Place]:
        tariff = self._tariff(kind, key)
        return ((place, key.is_other, key.flags, tariff) for place in self._groups(kind, key))

    def _groups(self, kind: Kind, key: Key) -> Iterable[Any]:
        return self.places_of(kind, key)
