"""Reading single attribute values. Each reader returns None for what it cannot read; none of them raises."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.semconv.facts import Told
from ingest.shapes import Shape, shape_of
from ingest.spans import Attributes

Reader = Callable[[Any], Any]
# One row of an adapter's table: the fact, the attribute that tells it, how to read its value.
Row = tuple[str, str, Reader]

MAX_DOCUMENT_CHARS = 1_000_000
MAX_SECONDS = 10 * 365 * 86_400
MAX_COUNT = 1 << 53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NOTHING = frozenset({"", "none", "null", "undefined"})
_LONGEST_NOTHING = 10
_OPENINGS = ('"', "[", "{")


def text(value: Any) -> str | None:
    """A non-empty string; a JSON string in quotes loses them (MLflow and Langfuse write those)."""
    if not isinstance(value, str):
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if len(value) >= _LONGEST_NOTHING and '"' < value[0] < "\x7f" and " " < value[-1] < "\x7f":
        return value  # neither in quotes nor with space around it: nearly all are
    if value[:1] == '"' and value[-1:] == '"':
        inner = document(value)
        value = inner if isinstance(inner, str) else value
    value = value.strip()
    return None if len(value) < _LONGEST_NOTHING and value.lower() in _NOTHING else value


def whole(value: Any) -> int | None:
    """A count from 0 up, also when it was written as a float or a string."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip().strip('"')
        if not value.isdecimal() or len(value) > 16:
            return None
        value = int(value)
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    return value if isinstance(value, int) and 0 <= value <= MAX_COUNT else None


def flag(value: Any) -> bool | None:
    """A boolean, also when it was written as a string."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().strip('"').lower())
    return None


def _scaled(value: Any, ns_per_unit: int) -> int | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if not 0 <= value <= MAX_SECONDS * (1_000_000_000 // ns_per_unit):
        return None
    return round(value * ns_per_unit)


def seconds(value: Any) -> int | None:
    """Seconds, as integer nanoseconds."""
    return _scaled(value, 1_000_000_000)


def milliseconds(value: Any) -> int | None:
    """Milliseconds, as integer nanoseconds."""
    return _scaled(value, 1_000_000)


def microseconds(value: Any) -> int | None:
    """Microseconds, as integer nanoseconds."""
    return _scaled(value, 1_000)


def instant(value: Any) -> int | None:
    """An ISO 8601 time, in quotes or not, as Unix nanoseconds."""
    told = text(value)
    if told is None or not told[:4].isdecimal():
        return None
    try:
        moment = datetime.fromisoformat(told)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND * 1000


def document(value: Any) -> Any:
    """What a JSON text holds; a value that is no text as it is; None for broken or enormous JSON."""
    if not isinstance(value, str):
        return value
    if len(value) > MAX_DOCUMENT_CHARS or value.lstrip()[:1] not in _OPENINGS:
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def first_text(value: Any) -> str | None:
    """The first of a list, or the text itself; lists may hide in JSON."""
    if isinstance(value, str) and value[:1] == "[":
        value = document(value)
    if isinstance(value, list | tuple):
        value = next(iter(value), None)
    return text(value)


def tell(told: Told, attributes: Attributes, rows: tuple[Row, ...]) -> Told:
    """Fill ``told`` from a table. The first row that knows a fact wins."""
    shape = shape_of(attributes)
    remembered = shape.memory.get(id(rows))
    here = remembered[1] if remembered else shape.remember(rows, _rows_here(rows, shape))
    for fact, key, read in here:
        if fact not in told:
            value = attributes[key]
            if value is not None:
                known = read(value)
                if known is not None:
                    told[fact] = known
    return told


def _rows_here(rows: tuple[Row, ...], shape: Shape) -> tuple[Row, ...]:
    return tuple(row for row in rows if row[1] in shape.keys)
