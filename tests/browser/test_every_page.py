"""Every page, light and dark, wide and narrow: whole, without errors, and usable by everyone."""

from __future__ import annotations

import time
from zoneinfo import ZoneInfo

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from dashboard.reports.core.weeks import week_of
from tests.browser.conftest import CHARTS_MS, Open
from tests.browser.traffic import SHOP, Traffic

LOOKS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
SERIOUS = ("serious", "critical")


def paths(traffic: Traffic) -> dict[str, str]:
    return {
        "live": "/live?range=15m",
        "start": "/start",
        "runs, query refused": "/runs?q=wal>5s",
        "runs": f"/runs?service={SHOP}&bars=time",
        "runs, nothing found": "/runs?q=there+is+no+such+run",
        "run": f"/runs/{traffic.shop[0]}",
        "failed run": f"/runs/{traffic.failed}",
        "hostile run": f"/runs/{traffic.hostile}",
        "no such run": "/runs/none",
        "no such page": "/none",
        "login": "/login",
        "reports": "/reports",
        "this week's report": f"/reports/{week_of(time.time_ns(), ZoneInfo('UTC'))}",
    }


def settle(page: Page) -> None:
    """Until what the page fetches by itself is there."""
    if page.locator("#stage-plot").count():
        page.locator("#stage-plot").scroll_into_view_if_needed()
        expect(page.locator("#stage-plot .main-svg").first).to_be_visible(timeout=CHARTS_MS)
    if page.locator("#side").count():
        expect(page.locator("#side .side-title")).to_be_visible()


@pytest.mark.parametrize(
    "name",
    [
        "live", "start", "runs", "runs, query refused", "runs, nothing found", "run", "failed run", "hostile run",
        "no such run", "no such page", "login", "reports", "this week's report",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_it_is_whole_and_accessible(open_page: Open, traffic: Traffic, name: str, theme: str, width: int) -> None:
    page = open_page(paths(traffic)[name], theme=theme, width=width)
    settle(page)

    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    dark = page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert dark == (theme == "dark")
    found = Axe().run(page).response["violations"]
    serious = [(v["id"], v["help"], [n["target"] for n in v["nodes"][:3]]) for v in found if v["impact"] in SERIOUS]
    assert not serious


def test_a_chosen_theme_is_remembered_and_never_flashes(open_page: Open) -> None:
    page = open_page("/runs", theme="light")
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    # Known before the first paint: the script that sets it stands in the head and blocks.
    page.goto(page.url, wait_until="commit")
    page.wait_for_function("document.body !== null")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator("#theme").click()
    assert page.evaluate("document.documentElement.dataset.theme ?? ''") == ""


def test_keys_lead_to_pages_and_to_the_search(open_page: Open) -> None:
    page = open_page("/live")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/runs*")
    page.keyboard.press("/")
    expect(page.locator(".query-input")).to_be_focused()
