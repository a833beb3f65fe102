"""What model calls cost, in integers: values in, values out.

Prices are millionths of a millionth (pico) of a currency's unit per token, which is a millionth of a unit per million
tokens; so every cost is a whole number of picos, and sums are exact in any order. A cost is linear in the tokens of a
call, so that the cost of many calls at one price follows from their sums of tokens: a call's, a run's and a summary's
cost agree to the last digit. What is not known is counted beside the sum, never in it as 0.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ingest.rollups.counting import tells_tokens
from ingest.rollups.steps import midnight

PICO = 10**12
ANY = "*"


class Rates(NamedTuple):
    """Picos per token of uncached input, cached input and output."""

    input: int
    cached_input: int
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """From midnight of a date on (None: since ever) what a model costs; without ``rates`` that is not known.
    ``model`` is a name, or the beginning of names with an asterisk at its end."""

    model: str
    from_date: dt.date | None
    rates: Rates | None

    @property
    def begins(self) -> dt.date:
        return self.from_date or dt.date.min


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    currency: str
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of some calls: the sum in picos over the ``known`` ones, and of how many it is unknown. Of ``at_most`` of the
    known ones nobody tells the cached tokens, though these have a price of their own: no input counts as cached."""

    pico: int = 0
    known: int = 0
    unknown: int = 0
    at_most: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.pico + other.pico, self.known + other.known, self.unknown + other.unknown,
            self.at_most + other.at_most,
        )  # fmt: skip

    @property
    def amount(self) -> str | None:
        """Units of the currency as a decimal number, exact; None where no call's cost is known."""
        return decimal(self.pico) if self.known else None


def total(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


def decimal(pico: int) -> str:
    """Without an exponent and without zeros at its end."""
    whole, rest = divmod(abs(pico), PICO)
    digits = f"{whole}.{rest:012}".rstrip("0").rstrip(".")
    return f"-{digits}" if pico < 0 else digits


def call_cost(
    rates: Rates | None, input_tokens: int | None, cached_tokens: int | None, output_tokens: int | None
) -> Cost:
    """One call's. Unknown without a price, and where its tokens are not told or cannot be."""
    if input_tokens is None or output_tokens is None or not tells_tokens(input_tokens, cached_tokens, output_tokens):
        return Cost(unknown=1)
    return calls_cost(rates, 1, input_tokens, cached_tokens or 0, output_tokens, int(cached_tokens is None))


def calls_cost(
    rates: Rates | None, count: int, input_tokens: int, cached_tokens: int, output_tokens: int, cached_untold: int
) -> Cost:
    """Of calls at one price that all tell their tokens, by the sums of these; ``cached_untold`` of them tell no cached
    ones."""
    if rates is None:
        return Cost(unknown=count)
    return Cost(
        pico=(input_tokens - cached_tokens) * rates.input + cached_tokens * rates.cached_input
        + output_tokens * rates.output,
        known=count,
        at_most=cached_untold if rates.cached_input != rates.input else 0,
    )  # fmt: skip


Tariff = tuple[Rates | None, ...]
"""A model's rates in each of the eras between the instants at which any price changes."""


class Pricing:
    """Prices in a zone, whose midnights are when they change. Of several tables, of one currency, the first that has a
    price of a model at a time tells it; so a project's own come before those of all projects."""

    def __init__(self, tables: Sequence[PriceTable], zone: ZoneInfo) -> None:
        currencies = {table.currency for table in tables}
        if len(currencies) > 1:
            raise ValueError("amounts of several currencies cannot be added")
        self.currency = next(iter(currencies), None)
        self.tables = [_by_pattern(table) for table in tables]
        dates = {
            price.from_date for table in self.tables for prices in table.values() for price in prices if price.from_date
        }
        self.dates = [dt.date.min, *sorted(dates)]
        self.changes = tuple(midnight(date, zone) for date in self.dates[1:])
        self._tariffs: dict[str | None, Tariff] = {}

    def __bool__(self) -> bool:
        """Whether there is any price."""
        return bool(self.tables)

    def tariff(self, model: str | None) -> Tariff:
        if model not in self._tariffs:
            self._tariffs[model] = tuple(self._rates(model, date) for date in self.dates)
        return self._tariffs[model]

    def era(self, at_ns: int) -> int:
        return bisect_right(self.changes, at_ns)

    def rates(self, model: str | None, at_ns: int) -> Rates | None:
        """What a call of a model costs that ended at an instant; None: not known."""
        return self.tariff(model)[self.era(at_ns)]

    def _rates(self, model: str | None, date: dt.date) -> Rates | None:
        if model is None:
            return None
        for table in self.tables:
            for pattern in _patterns(model):
                valid = [price for price in table.get(pattern, ()) if price.begins <= date]
                if valid:
                    return valid[-1].rates
        return None


def _by_pattern(table: PriceTable) -> dict[str, list[Price]]:
    found: dict[str, list[Price]] = {}
    for price in sorted(table.prices, key=lambda price: price.begins):
        found.setdefault(price.model, []).append(price)
    return found


def _patterns(model: str) -> Iterable[str]:
    """The exact name, then beginnings, longest first."""
    yield model
    for length in range(len(model), -1, -1):
        yield model[:length] + ANY
