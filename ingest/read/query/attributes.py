"""Whether a span has what a term on attributes asks for, in its own attributes or its resource's. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ingest.read.query.amounts import read_amount
from ingest.read.query.terms import ATTRIBUTE, Amount, Known, Pattern, Term, Unit, Wanted
from ingest.spans import AttributeValue, Span


def attribute_of(term: Term) -> str:
    return term.field.removeprefix(ATTRIBUTE)


def needles(term: Term) -> list[bytes]:
    """Bytes that stand in a message which has what the term asks for: the name and, where one text is wanted that
    stands for no number, the longest part of it."""
    found = [attribute_of(term).encode()]
    [*wanted] = term.wanted
    if len(wanted) == 1 and isinstance(wanted[0], Pattern):
        part = wanted[0].text if wanted[0].exact else max(wanted[0].text.split("*"), key=len)
        if _number(wanted[0].text) is None and part not in ("true", "false"):
            found.append(part.encode())
    return found


def has(span: Span, term: Term) -> bool:
    """Whether any of the wanted values is there, whatever the term's negation."""
    name = attribute_of(term)
    return any(
        name in told and _fits(value, wanted)
        for told in (span.attributes, span.resource)
        for value in _each(told.get(name))
        for wanted in term.wanted
    )


def texts_of(value: AttributeValue) -> Iterator[str]:
    """How a query writes each of the values that an attribute has."""
    for one in _each(value):
        if isinstance(one, bool):
            yield "true" if one else "false"
        elif isinstance(one, str | int | float):
            yield str(one)


def _each(value: AttributeValue) -> Iterator[AttributeValue]:
    """A list has each of its values."""
    if isinstance(value, list):
        for item in value:
            yield from _each(item)
    else:
        yield value


def _fits(value: AttributeValue, wanted: Wanted) -> bool:
    if isinstance(wanted, Known):
        return True
    if isinstance(wanted, Amount):
        number = _number(value)
        return number is not None and _within(number, wanted)
    if isinstance(value, bool):
        return wanted.matches("true" if value else "false")
    if isinstance(value, int | float):
        asked = _number(wanted.text)
        return asked == _number(value) if asked is not None else wanted.matches(str(value))
    return isinstance(value, str) and wanted.matches(value)


def _number(value: AttributeValue) -> Fraction | None:
    """A number, or a text that is one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float):
        # As it is written, since that is what people ask for: 0.2 is a fifth.
        return Fraction(repr(value)) if value == value and abs(value) != float("inf") else None
    if not isinstance(value, str):
        return None
    told = read_amount(value.removeprefix("-"), (Unit.COUNT,)) if value[-1:].isdecimal() else None
    return None if told is None else -told[1] if value.startswith("-") else told[1]


def _within(number: Fraction, wanted: Amount) -> bool:
    over = wanted.low is None or number > wanted.low or (wanted.low_in and number == wanted.low)
    under = wanted.high is None or number < wanted.high or (wanted.high_in and number == wanted.high)
    return over and under
