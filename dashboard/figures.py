"""Figures as people read them: never more digits than are known, unknown is a dash, parts add up.

Plain text in, plain text out; ``templatetags/sixstage.py`` puts the unit in its dimmed span, and
``static/js/figures.js`` says the same in the browser.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

THIN = "\u202f"  # narrow no-break space, between a figure and its unit and between thousands
UNKNOWN = "–"
MS, SECOND, MINUTE, HOUR = 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000


class Figure(NamedTuple):
    """A value and its unit; the unit is empty where there is none."""

    value: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.value}{THIN}{self.unit}" if self.unit else self.value


NOT_KNOWN = Figure(UNKNOWN)


def duration(ns: int | None) -> Figure:
    """Three significant digits: 8.4 ms, 412 ms, 4.12 s, 48.3 s, 3 min 12 s, 1 h 04 min."""
    if ns is None:
        return NOT_KNOWN
    sign, ns = ("−" if ns < 0 else ""), abs(ns)
    value, unit = _magnitude(ns)
    return Figure(sign + value, unit)


def _magnitude(ns: int) -> tuple[str, str]:
    if ns == 0:
        return "0", "ms"
    if ns < 50_000:
        return "<0.1", "ms"
    if ns < 9_950_000:
        return _decimal(ns, MS, 1), "ms"
    if ns < 999_500_000:
        return _decimal(ns, MS, 0), "ms"
    if ns < 9_995_000_000:
        return _decimal(ns, SECOND, 2), "s"
    if ns < 99_950_000_000:
        return _decimal(ns, SECOND, 1), "s"
    seconds = (ns + SECOND // 2) // SECOND
    if seconds < 3600:
        return f"{seconds // 60}{THIN}min{THIN}{seconds % 60:02}", "s"
    minutes = (ns + MINUTE // 2) // MINUTE
    return f"{minutes // 60}{THIN}h{THIN}{minutes % 60:02}", "min"


def _decimal(amount: int, unit: int, digits: int) -> str:
    """``amount / unit`` rounded half up, in integers: a float could not hold every nanosecond."""
    scale = 10**digits
    scaled = (amount * scale * 2 + unit) // (2 * unit)
    return f"{scaled // scale}.{scaled % scale:0{digits}}" if digits else str(scaled)


def exact_unit(wall_ns: int) -> tuple[int, str, int]:
    """The grain, the unit and the nanoseconds in it with which all exact figures of a run are written:
    milliseconds of a run of a second or more, microseconds of a shorter one."""
    return (MS, "s", SECOND) if wall_ns >= SECOND else (1_000, "ms", MS)


def exact(ns: int | None, wall_ns: int | None = None) -> Figure:
    """Three decimals, as in a run's head: 14.795 s. ``wall_ns`` decides the unit of parts that stand together."""
    if ns is None:
        return NOT_KNOWN
    _, unit, size = exact_unit(ns if wall_ns is None else wall_ns)
    return Figure(_grouped_decimal(ns, size), unit)


def exact_together(parts: Sequence[int], wall_ns: int) -> list[Figure]:
    """Exact figures of parts that add up, on the page too, to that of their whole."""
    grain, unit, size = exact_unit(wall_ns)
    return [Figure(_grouped_decimal(ns, size), unit) for ns in round_together(parts, grain)]


def _grouped_decimal(ns: int, size: int) -> str:
    whole, _, fraction = _decimal(ns, size, 3).partition(".")
    return f"{grouped(int(whole))}.{fraction}"


def round_together(parts: Sequence[int], grain: int) -> list[int]:
    """Each part rounded to a multiple of ``grain`` so that they add up to their rounded sum.

    Largest remainder: all are rounded down, and the grains that are missing go to those that lost most.
    """
    lowered = [part // grain * grain for part in parts]
    total = (sum(parts) + grain // 2) // grain * grain
    missing = (total - sum(lowered)) // grain
    by_loss = sorted(range(len(parts)), key=lambda i: parts[i] % grain, reverse=True)
    for i in by_loss[:missing]:
        lowered[i] += grain
    return lowered


def percent(share: float | None) -> Figure:
    """One decimal below ten, none above; 0 % only for a true zero."""
    if share is None:
        return NOT_KNOWN
    if share == 0:
        return Figure("0", "%")
    if abs(share) < 0.0005:
        return Figure("<0.1", "%")
    return Figure(f"{share * 100:.1f}" if abs(share) < 0.0995 else f"{share * 100:.0f}", "%")


def share_of(part: int | None, whole: int | None) -> float | None:
    """``part / whole``, unknown where either is or where there is nothing to share."""
    return part / whole if part is not None and whole else None


def count(number: int | None) -> Figure:
    """In full up to 99 999, then 412k and 3.9M."""
    if number is None:
        return NOT_KNOWN
    if abs(number) < 100_000:
        return Figure(grouped(number))
    if abs(number) < 999_500:
        return Figure(f"{number / 1000:.0f}k")
    return Figure(f"{number / 1e6:.1f}M")


COST_PLACES = 6


def cost(amount: str | None, currency: str | None = None) -> Figure:
    """Three significant digits of an amount of money, but no more than six after the point: 0.00419 EUR."""
    if amount is None:
        return NOT_KNOWN
    value = Decimal(amount)
    return Figure(_cost(value, _places(value, 3)), currency or "")


def costs_together(parts: Sequence[str | None], whole: str | None) -> list[Figure]:
    """Amounts that add up, on the page too, to that of their whole, which is the last of the figures. What is too
    little to be seen beside it is no zero."""
    if whole is None:
        return [NOT_KNOWN] * (len(parts) + 1)
    places = max(_places(Decimal(whole), 4), *(_places(Decimal(part), 3) for part in parts if part is not None))
    known = iter(
        round_together([int(Decimal(part).scaleb(12)) for part in parts if part is not None], 10 ** (12 - places))
    )
    figures = [
        NOT_KNOWN if part is None else Figure(_cost(Decimal(next(known)).scaleb(-12), places, part)) for part in parts
    ]  # fmt: skip
    return [*figures, Figure(_cost(Decimal(whole), places))]


def _places(value: Decimal, digits: int) -> int:
    """How many digits after the point show so many significant ones."""
    return max(0, min(COST_PLACES, digits - 1 - value.adjusted())) if value else 0


def _cost(value: Decimal, places: int, exact: str | None = None) -> str:
    rounded = value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    if not rounded and (value if exact is None else Decimal(exact)):
        return f"<{Decimal(1).scaleb(-places):f}"
    whole, _, rest = f"{rounded:f}".partition(".")
    return f"{grouped(int(whole))}.{rest}" if rest else grouped(int(whole))


def grouped(number: int) -> str:
    """The number in full, thousands apart."""
    return f"{number:,}".replace(",", THIN).replace("-", "−")


def size(number_of_bytes: int) -> Figure:
    if number_of_bytes < 1000:
        return Figure(str(number_of_bytes), "B")
    if number_of_bytes < 999_500:
        return Figure(f"{number_of_bytes / 1000:.3g}", "kB")
    if number_of_bytes < 999_500_000:
        return Figure(f"{number_of_bytes / 1e6:.3g}", "MB")
    if number_of_bytes < 99_950_000_000:
        return Figure(f"{number_of_bytes / 1e9:.3g}", "GB")
    return Figure(grouped(round(number_of_bytes / 1e9)), "GB")


def plural(number: int, singular: str, more: str | None = None) -> str:
    """``1 run``, ``41 runs``, ``2 retries``."""
    many = more or (f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s")
    return f"{count(number)} {singular if number == 1 else many}"


def instant(unix_ns: int) -> datetime:
    """To the microsecond, which is all that a datetime holds. For display only."""
    seconds, rest = divmod(unix_ns, SECOND)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
