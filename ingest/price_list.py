"""Price lists as people write them, in TOML or JSON, and the tables they stand for. Pure.

Amounts are decimal numbers of the currency's unit per million tokens, written as text so that no float rounds them.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

from ingest.costs import ANY, PICO, Price, PriceTable, Rates, decimal

MILLION = 10**6
PLACES = 6  # of a unit per million tokens: a pico a token
AMOUNT_MOST = Decimal(10**9)
PRICES_MOST, MODEL_MOST = 1_000, 200
INPUT, CACHED, OUTPUT = "input_per_million", "cached_input_per_million", "output_per_million"
AMOUNTS = (INPUT, CACHED, OUTPUT)
FIELDS = ("model", "from", *AMOUNTS)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?")


class PricesRefused(ValueError):
    """A price list that cannot be read; the message says which price and what is expected."""


def parse_toml(text: str) -> PriceTable | None:
    """A file: ``currency``, and a ``[[price]]`` for each price. None: it has no price. Raises PricesRefused."""
    try:
        told = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError, InvalidOperation) as error:
        raise PricesRefused(f"not TOML: {error}") from error
    if unknown := sorted(told.keys() - {"currency", "price"}):
        raise PricesRefused(f"{unknown[0]!r}: expected nothing but currency and [[price]]")
    prices = told.get("price", [])
    if not isinstance(prices, list):
        raise PricesRefused("price: expected [[price]], in double brackets")
    return parse(told.get("currency"), prices)


def parse(currency: object, prices: Iterable[object]) -> PriceTable | None:
    """None: there is no price. Raises PricesRefused."""
    table = tuple(_price(number, told) for number, told in enumerate(prices, 1))
    if not table:
        return None
    if not isinstance(currency, str) or not re.fullmatch(r"[A-Z]{3}", currency):
        raise PricesRefused(f"currency={currency!r}: expected three capital letters, such as EUR")
    if len(table) > PRICES_MOST:
        raise PricesRefused(f"{len(table)} prices: expected at most {PRICES_MOST}; a * at a name's end covers many")
    seen: dict[tuple[str, dt.date | None], int] = {}
    for number, price in enumerate(table, 1):
        if (same := seen.setdefault((price.model, price.from_date), number)) != number:
            raise PricesRefused(f"price {number} ({price.model}): expected another date than that of price {same}")
    return PriceTable(currency=currency, prices=table)


def written(table: PriceTable) -> list[dict[str, str | None]]:
    """The prices again, as ``parse`` reads them."""
    return [_written(price) for price in table.prices]


def as_toml(table: PriceTable) -> str:
    """The table as ``parse_toml`` reads it."""
    lines = [f'currency = "{table.currency}"']
    for price in written(table):
        lines += ["", "[[price]]"]
        lines += [
            f"{name} = {value}" if name == "from" else f"{name} = {json.dumps(value, ensure_ascii=False)}"
            for name, value in price.items()
            if value is not None
        ]
    return "\n".join([*lines, ""])


def _price(number: int, told: object) -> Price:
    if not isinstance(told, Mapping):
        raise PricesRefused(f"price {number}: expected {', '.join(FIELDS)}")
    model = told.get("model")
    where = f"price {number}" + (f" ({model[:MODEL_MOST]})" if isinstance(model, str) else "")
    if unknown := sorted(str(name) for name in told.keys() - set(FIELDS)):
        raise PricesRefused(f"{where}: {unknown[0]!r} is not known; expected {', '.join(FIELDS)}")
    if not isinstance(model, str) or not 0 < len(model) <= MODEL_MOST or ANY in model[:-1] or not model.isprintable():
        raise PricesRefused(
            f"{where}: model={model!r:.300}: expected a model's name, or its beginning with a {ANY} at the end"
        )
    rates = [_amount(where, name, told.get(name)) for name in AMOUNTS]
    return Price(model=model, from_date=_date(where, told.get("from")), rates=_rates(where, *rates))


def _rates(where: str, asked: int | None, cached: int | None, output: int | None) -> Rates | None:
    if asked is None and cached is None and output is None:
        return None
    if asked is None or output is None:
        raise PricesRefused(f"{where}: expected both {INPUT} and {OUTPUT}, or no amount where the price is unknown")
    return Rates(asked, asked if cached is None else cached, output)


def _date(where: str, told: object) -> dt.date | None:
    if told is None or (isinstance(told, dt.date) and not isinstance(told, dt.datetime)):
        date = told
    else:
        try:
            date = dt.date.fromisoformat(_DATE.fullmatch(str(told))[0])  # type: ignore[index]
        except (ValueError, TypeError):
            raise PricesRefused(f"{where}: from={told!r:.60}: expected a date, such as 2026-03-01") from None
    if date is not None and not 1970 <= date.year < 2200:
        raise PricesRefused(f"{where}: from={date}: expected a date from 1970 to 2199")
    return date


def _amount(where: str, name: str, told: object) -> int | None:
    """Picos per token."""
    if told is None:
        return None
    text = f"{told:f}" if isinstance(told, Decimal) else str(told)
    if isinstance(told, bool | float) or len(text) > 40 or not _AMOUNT.fullmatch(text) or Decimal(text) > AMOUNT_MOST:
        raise PricesRefused(
            f'{where}: {name}={told!r:.60}: expected an amount per million tokens as text, such as "2.50"'
        )
    pico = Decimal(text) * PICO / MILLION
    if pico != int(pico):
        raise PricesRefused(f"{where}: {name}={text}: expected at most {PLACES} digits after the point")
    return int(pico)


def _written(price: Price) -> dict[str, str | None]:
    rates = price.rates
    amounts = (None, None, None) if rates is None else tuple(decimal(rate * MILLION) for rate in rates)
    date = None if price.from_date is None else price.from_date.isoformat()
    return {"model": price.model, "from": date, **dict(zip(AMOUNTS, amounts, strict=True))}
