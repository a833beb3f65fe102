"""Costs in the browser: prices are typed on the settings page, and the run page and the list tell what runs cost."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.traffic import Traffic
from tests.instance import Instance

PRICES = """currency = "EUR"

[[price]]
model = "tiny-*"
input_per_million = "0.20"
cached_input_per_million = "0.10"
output_per_million = "0.80"
"""
SHOWN = "0.000292"  # two calls: 300 tokens at 0.20, 700 at 0.10 and 20 at 0.80 a million


@pytest.fixture
def no_prices_after(instance: Instance) -> Iterator[None]:
    yield
    instance.api.put("/prices", json={"currency": None, "prices": []})


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_prices_make_costs(open_page: Open, traffic: Traffic, no_prices_after: None, theme: str, width: int) -> None:
    page = open_page("/settings/", theme=theme, width=width)
    expect(page.get_by_text("There is none, so no cost is known")).to_be_visible()
    page.get_by_label("This project’s own, as TOML").fill(PRICES)
    page.get_by_role("button", name="Save prices").click()
    expect(page.locator("#prices tbody tr")).to_have_count(1)
    _is_whole(page, width)

    page.goto(page.url.partition("/settings")[0] + f"/runs/{traffic.shop[0]}")
    expect(page.locator(".facts")).to_contain_text(f"{SHOWN}\u202fEUR")
    column = page.locator(".rounds thead th").all_inner_texts().index("Cost EUR")
    costs = page.locator(f".rounds tbody td:nth-child({column + 1})").all_inner_texts()
    assert sum(Decimal(cost) for cost in costs if cost != "–") == Decimal(SHOWN)
    expect(page.locator(f".rounds tfoot td:nth-child({column + 1})")).to_have_text(SHOWN)
    _is_whole(page, width)

    page.goto(page.url.partition("/runs")[0] + "/runs?q=shop-agent")
    if width > 640:
        expect(page.locator(".runs-table")).to_contain_text("Cost EUR")
        expect(page.locator(".runs-table tbody tr").first).to_contain_text(SHOWN)
    _is_whole(page, width)


def _is_whole(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    found = Axe().run(page).response["violations"]
    assert [(v["id"], v["help"]) for v in found if v["impact"] in ("serious", "critical")] == []
