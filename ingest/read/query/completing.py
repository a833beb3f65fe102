"""What stands at the cursor of a query that is being written, and what may stand there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.read.query.editing import joined, readable
from ingest.read.query.fields import FIELDS, Field, Kind, find_field
from ingest.read.query.parser import SIGNS
from ingest.read.query.terms import ATTRIBUTE, Query

OFFERED_MOST = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """``start`` to ``end`` is what a choice replaces. ``field`` is whose value is written there, None: a field's name.
    ``rest`` is the query without the term at the cursor."""

    start: int
    end: int
    field: Field | None
    typed: str
    rest: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """``insert`` stands in the place of what was typed; ``term`` is the whole condition it makes, if it makes one."""

    insert: str
    says: str
    term: str | None = None


def place_at(text: str, cursor: int) -> Place:
    cursor = max(0, min(cursor, len(text)))
    start, end = _word(text, cursor)
    rest = readable(joined(text[:start], text[end:]))
    begins = start + (text[start : start + 1] == "-")
    name_end = begins
    while name_end < cursor and (text[name_end].isalnum() or text[name_end] in "._-"):
        name_end += 1
    sign = next((sign for sign in SIGNS if text.startswith(sign, name_end)), "")
    field = find_field(text[begins:name_end]) if sign else None
    if field is None or name_end + len(sign) > cursor:
        return Place(start=begins, end=end, field=None, typed=text[begins:cursor], rest=rest)
    values = name_end + len(sign)
    if field.kind is not Kind.AMOUNT:
        values = max([values, *(at + 1 for at in range(values, cursor) if text[at] in ",(")])
    return Place(start=values, end=end, field=field, typed=text[values:cursor].lstrip('"'), rest=rest)


def _word(text: str, cursor: int) -> tuple[int, int]:
    """From where to where the term at the cursor goes: blanks end it, but not in quotes."""
    start, quoted = 0, False
    for at, here in enumerate(text[:cursor]):
        if here == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif here.isspace() and not quoted:
            start = at + 1
    end = cursor
    while end < len(text) and (quoted or not text[end].isspace()):
        if text[end] == '"':
            quoted = not quoted
        end += 1
    return start, end


def field_offers(typed: str) -> list[Offer]:
    """Fields whose name begins with what was typed, then those that hold it; of a whole name, amounts to compare."""
    low = typed.lower().replace("-", "_")
    found = [field for field in FIELDS.values() if low in field.name]
    bare = {field.name: field.name.removeprefix("stage.") for field in found}
    found.sort(key=lambda field: (not field.name.startswith(low), not bare[field.name].startswith(low)))
    offers: list[Offer] = []
    for field in found:
        amount = field.kind is Kind.AMOUNT
        offers.append(Offer(insert=f"{field.name}{'>' if amount else ':'}", says=field.says))
        if amount and len(found) <= 2:
            offers += _compared(field, f"{field.name}>")
    if low and ATTRIBUTE.startswith(low):
        offers.insert(0, Offer(insert=ATTRIBUTE, says="any attribute of its spans, by its name"))
    return offers[:OFFERED_MOST]


def amount_offers(field: Field, typed: str) -> list[Offer]:
    return [offer for offer in _compared(field, "") if offer.insert.startswith(typed)]


def choice_offers(field: Field, typed: str) -> list[Offer]:
    """Values of a closed set."""
    return [
        Offer(insert=value, says="", term=f"{field.name}:{value}") for value in field.choices if typed.lower() in value
    ]  # fmt: skip


def _compared(field: Field, before: str) -> Iterator[Offer]:
    return (
        Offer(insert=f"{before}{amount}", says="", term=f"{field.name}>{amount}") for amount in field.examples
    )  # fmt: skip
