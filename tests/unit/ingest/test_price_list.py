"""Price lists of files and of the API: what they say, and what is said of those that cannot be read."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from ingest.costs import Price, Pricing, Rates, call_cost
from ingest.price_list import PricesRefused, parse, parse_toml

FILE = """
currency = "EUR"

[[price]]
model = "large-*"
input_per_million = "2.50"
cached_input_per_million = "0.25"
output_per_million = 10

[[price]]
model = "large-*"
from = 2026-03-01
input_per_million = 2.4
output_per_million = "9.123456"

[[price]]
model = "large-trial"
"""
UTC = ZoneInfo("UTC")


def at(*moment: int) -> int:
    return int(dt.datetime(*moment, tzinfo=dt.UTC).timestamp()) * 10**9  # type: ignore[misc]


def test_a_file() -> None:
    table = parse_toml(FILE)
    assert table is not None
    assert table.currency == "EUR"
    assert table.prices == (
        Price(model="large-*", from_date=None, rates=Rates(2_500_000, 250_000, 10_000_000)),
        Price(model="large-*", from_date=dt.date(2026, 3, 1), rates=Rates(2_400_000, 2_400_000, 9_123_456)),
        Price(model="large-trial", from_date=None, rates=None),
    )


def test_the_most_specific_name_wins_and_may_be_unknown() -> None:
    table = parse("EUR", [
        {"model": "*", "input_per_million": "1", "output_per_million": "1"},
        {"model": "large*", "input_per_million": "2", "output_per_million": "2"},
        {"model": "large-trial"},
        {"model": "large-b", "from": "2026-03-01", "input_per_million": "3", "output_per_million": "3"},
    ])  # fmt: skip
    assert table is not None
    pricing = Pricing([table], UTC)
    before, after = at(2026, 2, 28, 23, 59), at(2026, 3, 1)
    rates = {name: pricing.rates(name, before) for name in ("small", "large", "large-trial", "large-b", None)}
    assert {name: told and told.input for name, told in rates.items()} == {
        "small": 1_000_000, "large": 2_000_000, "large-trial": None, "large-b": 2_000_000, None: None,
    }  # fmt: skip
    assert (told := pricing.rates("large-b", after))
    assert told.input == 3_000_000


def test_a_call_costs_its_tokens() -> None:
    table = parse_toml(FILE)
    assert table is not None
    rates = Pricing([table], UTC).rates("large-7", at(2026, 1, 1))
    assert call_cost(rates, 1_000, 600, 50).amount == "0.00165"  # 400 at 2.50, 600 at 0.25, 50 at 10 a million
    assert call_cost(rates, 0, None, 0).amount == "0"


def test_own_prices_come_before_those_for_all() -> None:
    own = parse("EUR", [{"model": "large*", "input_per_million": "1", "output_per_million": "1"}])
    common = parse_toml(FILE)
    assert own is not None
    assert common is not None
    rates = Pricing([own, common], UTC).rates("large-7", at(2026, 5, 1))
    assert rates == Rates(1_000_000, 1_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("currency = ", "not TOML"),
        ('currency = "euro"\n[[price]]\nmodel = "m"', "currency='euro': expected three capital letters"),
        ('[[price]]\nmodel = "m"', "currency=None"),
        ('currency = "EUR"\n[price]\nmodel = "m"', "double brackets"),
        ('price = ["m"]', "price 1: expected model, from"),
        ('prices = 1', "'prices': expected nothing but"),
        ('currency = "EUR"\n[[price]]\nmodel = ""', "price 1 (): model=''"),
        ('currency = "EUR"\n[[price]]\nmodel = "a*b"', "a * at the end"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\ninput = 1', "price 1 (m): 'input' is not known"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\nfrom = "1 March"', "expected a date, such as"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\nfrom = 2026-03-01T10:00:00Z', "expected a date, such as"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\ninput_per_million = "1"', "expected both input_per_million and"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\noutput_per_million = "-1"', "output_per_million='-1'"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\noutput_per_million = "1e3"', "expected an amount per million"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\noutput_per_million = inf', "expected an amount per million"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\noutput_per_million = true', "expected an amount per million"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\ninput_per_million = "0.0000001"', "at most 6 digits"),
        ('currency = "EUR"\n[[price]]\nmodel = "m"\n[[price]]\nmodel = "m"', "price 2 (m): expected another date"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(text: str, said: str) -> None:
    with pytest.raises(PricesRefused) as refused:
        parse_toml(text)
    assert said in str(refused.value)


def test_no_price_is_no_table() -> None:
    assert parse_toml("") is None
    assert parse(None, []) is None
