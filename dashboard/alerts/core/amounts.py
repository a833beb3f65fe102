"""Amounts as people write them in rules: ``400ms``, ``3s``, ``5m``, ``28d``, ``5%``, ``12``."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

UNITS_NS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
    "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9,
}  # fmt: skip
SECOND_NS = 10**9
_TIME = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([a-zµ]{1,3})", re.ASCII | re.IGNORECASE)


class AmountRefused(ValueError):
    """What was written is no such amount; the text says what is expected."""


def read_duration(text: object) -> int:
    """Nanoseconds, of a text with its unit. Raises AmountRefused."""
    found = _TIME.fullmatch(str(text).strip().replace("\u202f", ""))
    if found is None or found[2].lower() not in UNITS_NS:
        raise AmountRefused(f"{str(text)[:40]!r} is no time: write it like 400ms, 30s, 5m, 6h or 7d")
    return int(Decimal(found[1]) * UNITS_NS[found[2].lower()])


def write_duration(ns: int) -> str:
    """The shortest text that is read as the same time: ``90s``, ``5m``."""
    for unit in ("d", "h", "m", "s", "ms", "us"):
        if ns and ns % UNITS_NS[unit] == 0:
            return f"{ns // UNITS_NS[unit]}{unit}"
    return f"{ns}ns" if ns else "0s"


def read_share(text: object) -> float:
    """A share, of ``5%`` or ``0.05``. Raises AmountRefused."""
    told = str(text).strip().replace("\u202f", "")
    number = read_number(told.removesuffix("%"))
    return float(Decimal(str(number)) / 100) if told.endswith("%") else number


def write_share(share: float) -> str:
    return f"{(Decimal(str(share)) * 100).normalize():f}%"


def read_number(text: object) -> float:
    """A number that is neither infinite nor none. Raises AmountRefused."""
    try:
        number = Decimal(str(text).strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number) > 10**18:
        raise AmountRefused(f"{str(text)[:40]!r} is no number")
    return float(number)
