"""Costs are exact: of any split of calls, across changes of prices, from sums of tokens as from each call."""

from __future__ import annotations

import datetime as dt
import random
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from ingest.costs import PICO, Cost, Price, PriceTable, Pricing, Rates, call_cost, calls_cost, decimal, total
from ingest.price_list import as_toml, parse, parse_toml, written
from ingest.rollups.counting import tells_tokens
from ingest.rollups.steps import midnight

ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Australia/Lord_Howe")
AROUND_NS = 1_761_343_200 * 10**9  # 25 October 2025: clocks change about then in several zones
tokens = st.none() | st.integers(-1, 2**31 - 1)
amounts = st.integers(0, 10**9)
rates = st.builds(Rates, amounts, amounts, amounts)
prices = st.builds(
    Price,
    model=st.sampled_from(["small", "sm*", "*", "large", "large-2*", 'a "quoted" \\ näme']),
    from_date=st.none() | st.dates(dt.date(2025, 10, 20), dt.date(2025, 11, 2)),
    rates=st.none() | rates,
)
tables = st.lists(
    prices, min_size=1, max_size=8, unique_by=lambda price: (price.model, price.from_date)
).map(lambda told: PriceTable(currency="EUR", prices=tuple(told)))  # fmt: skip
pricings = st.builds(Pricing, st.lists(tables, max_size=2), st.sampled_from(ZONES).map(ZoneInfo))
calls = st.tuples(
    st.sampled_from(["small", "smart", "large", "large-2b", None]),
    st.integers(AROUND_NS - 6 * 86_400 * 10**9, AROUND_NS + 8 * 86_400 * 10**9), tokens, tokens, tokens,
)  # fmt: skip


@given(pricings, st.lists(calls, max_size=30), st.integers(0, 5))
def test_sums_of_tokens_cost_what_their_calls_do(pricing: Pricing, told: list[tuple], seed: int) -> None:
    """As rollups do it: by model, era and whether the tokens are told."""
    each = [call_cost(pricing.rates(model, at), *told_tokens) for model, at, *told_tokens in told]
    cells: dict[tuple, list[list[int | None]]] = {}
    for model, at, *told_tokens in told:
        cells.setdefault((pricing.tariff(model), pricing.era(at), tells_tokens(*told_tokens)), []).append(told_tokens)
    summed = Cost()
    for (tariff, era, complete), together in cells.items():
        if not complete:
            summed += Cost(unknown=len(together))
            continue
        sums = [sum(value or 0 for value in column) for column in zip(*together, strict=True)]
        untold = sum(cached is None for _, cached, _ in together)
        summed += calls_cost(tariff[era], len(together), *sums, untold)
    assert summed == total(each)
    chance = random.Random(seed)  # runs, and summaries over them
    split: dict[int, list[Cost]] = {}
    for cost in each:
        split.setdefault(chance.randrange(4), []).append(cost)
    assert total(map(total, split.values())) == total(each)
    assert summed.known + summed.unknown == len(told)


@given(tables, st.sampled_from(ZONES), st.sampled_from(["small", "large-2b", "other"]))
def test_a_price_changes_to_the_nanosecond_at_midnight(table: PriceTable, zone: str, model: str) -> None:
    pricing = Pricing([table], ZoneInfo(zone))
    for price in table.prices:
        if price.from_date is None:
            continue
        at = midnight(price.from_date, ZoneInfo(zone))
        assert pricing.era(at) == pricing.era(at - 1) + 1
        if price.model == model:  # the most specific there is
            assert pricing.rates(model, at) == price.rates


@given(tables)
def test_a_list_is_read_as_it_is_written(table: PriceTable) -> None:
    assert parse(table.currency, written(table)) == table
    assert parse_toml(as_toml(table)) == table


@given(st.integers(-(10**30), 10**30))
def test_an_amount_is_told_exactly(pico: int) -> None:
    whole, _, rest = decimal(pico).removeprefix("-").partition(".")
    assert (int(whole) * PICO + int((rest or "0").ljust(12, "0"))) * (-1 if pico < 0 else 1) == pico
    assert "e" not in decimal(pico).lower()
    assert not rest.endswith("0")


@given(rates, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_cost_is_unknown_and_never_nothing(told: Rates, asked: int, cached: int, answered: int) -> None:
    assert call_cost(None, asked, min(asked, cached), answered) == Cost(unknown=1)
    for missing in ((None, cached, answered), (asked, cached, None), (asked, asked + 1, answered)):
        assert call_cost(told, *missing).amount is None
    at_most = call_cost(told, asked, None, answered)
    assert at_most.pico == asked * told.input + answered * told.output
    assert at_most.at_most == (told.cached_input != told.input)
