"""A query as an SQL condition over a run's row, which stands there as ``ingest_run``. Values are parameters; of the
text of a query nothing gets into the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ingest.read.query.fields import FIELDS, STAGES, Field, Kind
from ingest.read.query.terms import Known, Pattern, Query, Term, Unit
from ingest.rollups.errors import kind_sql

BIGGEST = 2**62
HASHED = ("session_id", "user_id")  # how their indexes know them
TEXT_COLUMNS = ("name", "service", "agent", "session_id", "user_id", "error", "encode(trace_id, 'hex')")
Condition = tuple[str, list[Any]]


def query_sql(query: Query, now_ns: int, cost: Condition | None = None) -> list[Condition]:
    """One condition a term. ``cost`` is the SQL that gives a run's cost in picos, for queries that ask for it."""
    return [_term(term, now_ns, cost) for term in query.terms]


def item_sql(query: Query, field: str, column: str) -> list[Condition]:
    """What a call's or tool's own column must be, where the query names the values that it wants."""
    return [_any([_text(column, one) for one in term.wanted]) for term in query.of(field) if not term.negated]


def _term(term: Term, now_ns: int, cost: Condition | None) -> Condition:
    if not term.field:
        found = _anywhere(term)
    else:
        field = FIELDS[term.field]
        found = _any([_one(field, one, now_ns, cost) for one in term.wanted])
    sql, parameters = found
    # What is not known is not what was asked for, and so it is what was asked not to be.
    return (f"NOT coalesce({sql}, false)" if term.negated else sql), parameters


def _any(parts: Sequence[Condition]) -> Condition:
    return "(" + " OR ".join(sql for sql, _ in parts) + ")", [one for _, values in parts for one in values]


def _one(field: Field, wanted: Any, now_ns: int, cost: Condition | None) -> Condition:
    if field.name == "status":
        return _status(wanted, now_ns)
    if field.name == "costliest":
        return _costliest(wanted)
    if field.kind is Kind.AMOUNT:
        return _amount(field, wanted, cost)
    if field.kind is Kind.ERROR:
        return _error(field, wanted)
    if field.kind is Kind.LIST:
        return _list(field, wanted)
    if field.kind is Kind.ID:
        return _id(field, wanted)
    return _text(field.column, wanted)


def _text(column: str, wanted: Any) -> Condition:
    if isinstance(wanted, Known):
        return f"{column} IS NOT NULL", []
    return equal_sql(column, wanted.text) if wanted.exact else (f"{column} LIKE %s", [wanted.like])


def equal_sql(column: str, text: str) -> Condition:
    """That a text column is this. Sessions and users are found by their hash, whose index takes half the bytes."""
    if column in HASHED:
        return f"(hashtext({column}) = hashtext(%s) AND {column} = %s)", [text, text]
    return f"{column} = %s", [text]


def _list(field: Field, wanted: Any) -> Condition:
    if isinstance(wanted, Known):
        return f"cardinality({field.column}) > 0", []
    if wanted.exact:
        return f"%s = ANY({field.column})", [wanted.text]
    return f"EXISTS (SELECT 1 FROM unnest({field.column}) AS one WHERE one LIKE %s)", [wanted.like]


def _id(field: Field, wanted: Any) -> Condition:
    if isinstance(wanted, Known):
        return "true", []
    if len(wanted.text) == 32:
        return f"{field.column} = %s", [bytes.fromhex(wanted.text)]
    return f"encode({field.column}, 'hex') LIKE %s", [f"{wanted.text.lower()}%"]


def _status(wanted: Any, now_ns: int) -> Condition:
    if isinstance(wanted, Known):
        return "true", []
    if wanted.text == "open":
        return "(NOT root_ended AND settles_unix_ns > %s)", [now_ns]
    return ("failed" if wanted.text == "error" else "NOT failed"), []


def _error(field: Field, wanted: Any) -> Condition:
    if isinstance(wanted, Known):
        return f"{field.column} IS NOT NULL", []
    if wanted.exact:
        return f"{kind_sql(field.column)} = %s", [wanted.text.lower()]
    kept = wanted.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("*", "%")
    return f"{field.column} ILIKE %s", [f"%{kept}%"]


def _costliest(wanted: Any) -> Condition:
    if isinstance(wanted, Known):
        return "wall_ns > 0", []
    most = ", ".join(f"{stage}_ns" for stage in STAGES)
    return f"(wall_ns > 0 AND {wanted.text}_ns = greatest({most}))", []


def costliest_sql() -> str:
    """The stage or outside time that took most; of equals the first, in the order of the stage bar."""
    most = ", ".join(f"{stage}_ns" for stage in STAGES)
    cases = " ".join(f"WHEN {stage}_ns THEN '{stage}'" for stage in STAGES)
    return f"CASE WHEN wall_ns > 0 THEN CASE greatest({most}) {cases} END END"


def _amount(field: Field, wanted: Any, cost: Condition | None) -> Condition:
    column, before = field.column, []
    if field.name == "cost":
        assert cost, "whoever asks for costs tells how they are computed"
        column, before = f"({cost[0]})", list(cost[1])
    if isinstance(wanted, Known):
        return f"{'cached_tokens' if field.name == 'cache' else column} IS NOT NULL", before
    whole = {"cache": "input_tokens"}.get(field.name, "wall_ns")
    part = "cached_tokens" if field.name == "cache" else column
    conditions: list[str] = []
    parameters: list[Any] = []
    for bound, sign in ((wanted.low, ">=" if wanted.low_in else ">"), (wanted.high, "<=" if wanted.high_in else "<")):
        if bound is None:
            continue
        if wanted.unit is Unit.SHARE:
            conditions.append(f"{part}::numeric * %s {sign} {whole}::numeric * %s")
            parameters += [bound.denominator, bound.numerator]
        else:
            edge, exact_sign = _whole(bound, sign)
            conditions.append(f"{part} {exact_sign} %s")
            parameters += [*before, edge]
    if wanted.unit is Unit.SHARE:
        conditions.append(f"{whole} > 0")
    return "(" + " AND ".join(conditions) + ")", parameters


def _whole(bound: Fraction, sign: str) -> tuple[int, str]:
    """The same bound for whole numbers: over 2.5 is 3 or more."""
    if bound.denominator == 1:
        return min(int(bound), BIGGEST), sign
    below = bound.numerator // bound.denominator
    return (min(below + 1, BIGGEST), ">=") if sign.startswith(">") else (min(below, BIGGEST), "<=")


def _anywhere(term: Term) -> Condition:
    [wanted] = term.wanted
    assert isinstance(wanted, Pattern)
    like = "%" + wanted.like + "%"
    return "(" + " OR ".join(f"{column} ILIKE %s" for column in TEXT_COLUMNS) + ")", [like] * len(TEXT_COLUMNS)
