"""What runs that fit a filter have in common: the values of their fields with counts, and how many fit more.

All is counted from rows, from the newest back while there is time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from ingest.read.attributes import find_among
from ingest.read.budget import Budget
from ingest.read.query.fields import FIELDS, Kind
from ingest.read.query.sql import costliest_sql
from ingest.read.rows import select
from ingest.read.runs import LAST_NS, RunFilter, conditions, narrowed_by
from ingest.read.values import Facet, Facets
from ingest.scope import Scope
from ingest.snapshot import snapshot

FACETS = ("service", "agent", "model", "tool", "status", "costliest", "engine", "environment", "version")
FACET_VALUES = 12
BUDGET_S = 1.5
FIRST_SLICE_NS = 3_600 * 10**9
OLDEST = "SELECT min(end_unix_ns) FROM ingest_run WHERE project_id = %s"
T = TypeVar("T")
Counted = Counter[tuple[str, str]]  # by field and value


def read_facets(scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float = BUDGET_S) -> Facets:
    """The values that runs have, with their counts, most first. A field's own conditions do not narrow its facet, so
    that its other values stay in reach; where a query asks for attributes they do, since only runs for which all of it
    holds were looked for. Raises BadFilter."""
    wanted, attributes_from_ns = find_among(scope, wanted, now_ns, budget_s, narrowed_by(scope, now_ns))
    query = wanted.query
    narrowed = [name for name in FACETS if getattr(wanted, name, None) is not None or any(query.of(name))]
    questions = [(wanted, [name for name in FACETS if name not in narrowed])]
    for name in narrowed:
        text = str(query.without(*query.of(name)))
        questions.append((replace(wanted, q=text, **({name: None} if hasattr(wanted, name) else {})), [name]))

    def ask(window: _Range) -> Counted:
        counted: Counted = Counter()
        for filter_, names in questions:
            counted.update(_count(scope, filter_, names, window, now_ns))
        return counted

    looking = _Looking(scope, wanted, now_ns, budget_s, ask)
    counted = sum(looking, Counter())
    return Facets(
        facets=[Facet(field=name, values=_most(counted, name)[:FACET_VALUES]) for name in FACETS],
        looked_from_unix_ns=max(filter(None, (looking.looked_from_ns, attributes_from_ns)), default=None),
    )


def read_values(
    scope: Scope, wanted: RunFilter, field: str, typed: str, now_ns: int, budget_s: float
) -> list[tuple[str, int]]:
    """Values of one field that hold what was typed, with counts: those that begin with it, then the others."""
    wanted, _ = find_among(scope, wanted, now_ns, budget_s, narrowed_by(scope, now_ns))
    looking = _Looking(
        scope, wanted, now_ns, budget_s, lambda window: _count(scope, wanted, [field], window, now_ns, typed)
    )  # fmt: skip
    values = _most(sum(looking, Counter()), field)
    return sorted(values, key=lambda value: not value[0].lower().startswith(typed.lower()))


def count_with(
    scope: Scope, wanted: RunFilter, terms: Sequence[str], now_ns: int, budget_s: float
) -> tuple[int, list[int]] | None:
    """How many runs fit, and how many of them fit each of the terms too; None where there was no time to count all."""
    wanted, attributes_from_ns = find_among(scope, wanted, now_ns, budget_s, narrowed_by(scope, now_ns))
    if attributes_from_ns is not None:
        return None
    filters, more = [], []
    for term in terms:
        narrowed, values = conditions(scope, RunFilter(q=term), now_ns)
        filters.append(f"count(*) FILTER (WHERE {narrowed})")
        more += values
    columns = ", ".join(f"{sql} AS n{at}" for at, sql in enumerate(["count(*)", *filters]))

    def ask(window: _Range) -> list[int]:
        where, parameters = conditions(scope, _within(wanted, window), now_ns)
        [row] = select(f"SELECT {columns} FROM ingest_run WHERE {where}", [*more, *parameters])
        return list(row.values())

    looking = _Looking(scope, wanted, now_ns, budget_s, ask)
    sums = [sum(column) for column in zip(*looking, strict=True)] or [0] * (len(terms) + 1)
    return None if looking.looked_from_ns is not None else (sums[0], sums[1:])


_Range = tuple[int, int]


def _within(wanted: RunFilter, window: _Range) -> RunFilter:
    return replace(wanted, from_unix_ns=window[0], to_unix_ns=window[1])


def _count(
    scope: Scope, wanted: RunFilter, names: Sequence[str], window: _Range, now_ns: int, typed: str = ""
) -> Counted:
    """How many runs of a slice have each value of some fields, or those values that hold what was typed."""
    if not names:
        return Counter()
    where, parameters = conditions(scope, _within(wanted, window), now_ns)
    told = " UNION ALL ".join(f"SELECT '{name}', {_value_sql(name)}" for name in names)
    if typed:
        kept = typed.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        where, parameters = f"{where} AND told.value ILIKE %s", [*parameters, f"%{kept}%"]
    rows = select(
        f"""SELECT told.field, told.value, count(*) AS n
            FROM ingest_run CROSS JOIN LATERAL ({told}) AS told (field, value)
            WHERE {where} AND told.value IS NOT NULL GROUP BY told.field, told.value""",
        parameters,
    )
    return Counter({(row["field"], row["value"]): row["n"] for row in rows})


def _value_sql(name: str) -> str:
    if name == "status":
        return "CASE WHEN failed THEN 'error' ELSE 'ok' END"
    if name == "costliest":
        return costliest_sql()
    field = FIELDS[name]
    return f"unnest({field.column})" if field.kind is Kind.LIST else field.column


def _most(counted: Counted, name: str) -> list[tuple[str, int]]:
    of_it = [(value, n) for (field, value), n in counted.items() if field == name]
    return sorted(of_it, key=lambda one: (-one[1], one[0]))


class _Looking(Generic[T]):
    """Answers of slices of a filter's range, the newest first, each twice as long as the one before. Where the time is
    up before all were looked at, ``looked_from_ns`` is from when on they were."""

    def __init__(
        self, scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float, ask: Callable[[_Range], T]
    ) -> None:
        self.project_id, self.wanted, self.now_ns = scope.project_id, wanted, now_ns
        self.ask, self.budget_s = ask, budget_s
        self.looked_from_ns: int | None = None

    def __iter__(self) -> Iterator[T]:
        budget = Budget(self.budget_s)
        with snapshot() as cursor:
            cursor.execute(OLDEST, [self.project_id])
            (oldest_ns,) = cursor.fetchone()
            if oldest_ns is None:
                return
            first_ns = oldest_ns if self.wanted.from_unix_ns is None else max(oldest_ns, self.wanted.from_unix_ns)
            end_ns = LAST_NS if self.wanted.to_unix_ns is None else self.wanted.to_unix_ns
            length_ns = FIRST_SLICE_NS
            from_ns = min(self.now_ns, end_ns) - length_ns
            while end_ns > first_ns:
                found = budget.ask(cursor, partial(self.ask, (max(first_ns, from_ns), end_ns)))
                if found is None:
                    self.looked_from_ns = end_ns
                    return
                yield found
                length_ns *= 2
                end_ns, from_ns = max(first_ns, from_ns), from_ns - length_ns

