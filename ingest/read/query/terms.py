"""What a query says: terms that all must hold, each with the characters it was read from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

ATTRIBUTE = "attr."  # begins the fields that are attributes of spans


class BadQuery(ValueError):
    """A query that cannot be read. ``at`` is the character of ``text``, from 0, at which it cannot."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        self.message, self.text, self.at = message, text, max(0, min(at, len(text)))


class Unit(StrEnum):
    """What an amount counts."""

    NS = "ns"
    SHARE = "share"
    COUNT = "count"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text; without ``exact`` every ``*`` in it stands for anything."""

    text: str
    exact: bool

    def matches(self, told: str) -> bool:
        return told == self.text if self.exact else self._expression.fullmatch(told) is not None

    @property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(".*".join(map(re.escape, self.text.split("*"))), re.DOTALL)

    @property
    def like(self) -> str:
        """As SQL's LIKE writes it, with a backslash before what is meant literally."""
        kept = self.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return kept if self.exact else kept.replace("*", "%")


@dataclass(frozen=True, slots=True)
class Amount:
    """At least ``low`` and at most ``high``, in one unit; None is no bound. ``low_in``, ``high_in``: the bound too."""

    unit: Unit
    low: Fraction | None
    high: Fraction | None
    low_in: bool = True
    high_in: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """``field:*``: whatever it is, as long as it is told."""


Wanted = Pattern | Amount | Known


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One condition: any of ``wanted`` holds for the field, or none where ``negated``. A field of "" is any text.
    ``start`` and ``end`` are its place in the query, ``text`` what stands there."""

    field: str
    sign: str
    wanted: tuple[Wanted, ...]
    negated: bool
    text: str
    start: int
    end: int

    @property
    def only(self) -> str | None:
        """The one text that the field must equal, if that is what the term says."""
        first = self.wanted[0]
        alone = len(self.wanted) == 1 and not self.negated
        return first.text if alone and isinstance(first, Pattern) and first.exact else None


@dataclass(frozen=True, slots=True)
class Query:
    """Terms that all must hold; without any, every run fits."""

    terms: tuple[Term, ...]

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __str__(self) -> str:
        return " ".join(term.text for term in self.terms)

    def of(self, field: str) -> Iterator[Term]:
        return (term for term in self.terms if term.field == field)

    def only(self, field: str) -> str | None:
        """The one text that a field must equal, if a term says so."""
        return next((text for term in self.of(field) if (text := term.only) is not None), None)

    @property
    def of_attributes(self) -> tuple[Term, ...]:
        """Terms that ask for attributes of spans, which no column and no key tells."""
        return tuple(term for term in self.terms if term.field.startswith(ATTRIBUTE))

    def without(self, *left_out: Term) -> Query:
        return Query(tuple(term for term in self.terms if term not in left_out))
