"""Amounts as people write them: 800ms, 2min, 30%, 12k, 0.02; exact, as fractions of the stored unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from ingest.read.query.terms import Unit

_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,12})?|\.\d{1,12})\s*([a-zµ%€$£]*)", re.IGNORECASE)
_PICO = Fraction(10**12)
UNITS: Mapping[Unit, Mapping[str, Fraction]] = {
    Unit.NS: {
        "ns": Fraction(1), "us": Fraction(10**3), "µs": Fraction(10**3), "ms": Fraction(10**6), "s": Fraction(10**9),
        "sec": Fraction(10**9), "min": Fraction(60 * 10**9), "m": Fraction(60 * 10**9), "h": Fraction(3600 * 10**9),
        "d": Fraction(86_400 * 10**9),
    },
    Unit.SHARE: {"%": Fraction(1, 100)},
    Unit.COUNT: {"": Fraction(1), "k": Fraction(10**3), "m": Fraction(10**6)},
    Unit.MONEY: {"": _PICO, "€": _PICO, "$": _PICO, "£": _PICO},
}  # fmt: skip
USUAL = {Unit.NS: "s"}  # where an amount is given without a unit
WORDS = {
    Unit.NS: "a time such as 800ms, 5s or 2min",
    Unit.SHARE: "a share such as 30%",
    Unit.COUNT: "a number such as 3, 12k or 1.5M",
    Unit.MONEY: "an amount such as 0.02",
}


def read_amount(told: str, units: tuple[Unit, ...]) -> tuple[Unit, Fraction] | None:
    """The unit and the amount in it (nanoseconds, shares of 1, counts, picos of a currency); None: it is none."""
    found = _AMOUNT.fullmatch(told.strip())
    if found is None:
        return None
    number, written = Fraction(found[1] if found[1][0] != "." else f"0{found[1]}"), found[2].lower()
    for unit in units:
        sizes = UNITS[unit]
        size = sizes.get(written or USUAL.get(unit, ""))
        if size is None and unit is Unit.MONEY and len(written) == 3 and written.isascii():
            size = _PICO  # the name of a currency; there is one only
        if size is not None:
            return unit, number * size
    return None


def expected(units: tuple[Unit, ...]) -> str:
    return " or ".join(WORDS[unit] for unit in units)
