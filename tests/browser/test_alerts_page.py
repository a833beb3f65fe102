"""Alerts in the browser: ready-made rules, a rule drawn before it is saved, a silence, a channel tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import CHARTS_MS, Open
from tests.instance import Instance

if TYPE_CHECKING:
    from tests.browser.traffic import Traffic

FIRES_MS = 150_000  # at the next whole minute, once workers have caught up

PAGES = {
    "rules": "/alerts",
    "history": "/alerts/history",
    "silences": "/alerts/silences",
    "objectives": "/alerts/objectives",
    "channels": "/alerts/channels",
    "a new rule": "/alerts/rules/new?ready=errors",
}


@pytest.fixture(scope="module")
def always(instance: Instance, traffic: Traffic) -> Iterator[str]:
    """The name of a rule that soon fires; afterwards it is gone, and with it what it had on Live."""
    name = "Runs do come"
    told = {"name": name, "of": "runs.count", "above": "0", "window": "1h", "severity": "critical"}
    made = instance.api.post("/alerts/rules", json=told)
    assert made.status_code == 201, made.text
    yield name
    instance.api.delete(f"/alerts/rules/{made.json()['id']}")


def test_ready_made_rules_watch_at_a_click(open_page: Open) -> None:
    page = open_page("/alerts")
    page.get_by_role("button", name="Add all ready-made rules").click()
    rules = page.get_by_role("region", name="Rules")
    expect(rules.get_by_role("link", name="An engine is down")).to_be_visible()
    expect(page.get_by_text("nothing fires")).to_be_visible()


def test_a_rule_is_drawn_on_the_last_week_before_it_is_saved(open_page: Open, traffic: Traffic, always: str) -> None:
    # The last of these tests waits for `always` to fire, which it may do from here on.
    page = open_page("/alerts/rules/new")
    page.get_by_label("Name").fill("Runs are slow")
    page.get_by_label("Figure").select_option("runs.wall")
    limit, drawn = page.get_by_label("Limit"), page.locator("#preview")
    limit.fill("soon")
    limit.blur()
    expect(drawn.get_by_role("status")).to_contain_text("soon", timeout=CHARTS_MS)
    limit.fill("1h")
    limit.blur()
    expect(drawn.locator("#rule-plot .main-svg").first).to_be_visible(timeout=CHARTS_MS)
    expect(drawn.get_by_text("limit 1 h")).to_be_visible()
    page.get_by_role("button", name="Save rule").click()
    expect(page.get_by_role("heading", name="Runs are slow")).to_be_visible()
    expect(page.get_by_role("button", name="Remove this rule")).to_be_visible()


def test_a_silence_begins_and_ends(open_page: Open) -> None:
    page = open_page("/alerts/silences")
    page.get_by_label("Alerts with these labels").first.fill("service=checkout")
    page.get_by_label("For", exact=True).fill("2h")
    page.get_by_label("Why").fill("moving house")
    page.get_by_role("button", name="Silence").click()
    row = page.get_by_role("row").filter(has_text="moving house")
    expect(row).to_be_visible()
    row.get_by_role("button").click()
    expect(page.get_by_role("row").filter(has_text="moving house").get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("name", list(PAGES))
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_it_is_whole_and_accessible(open_page: Open, traffic: Traffic, name: str, theme: str, width: int) -> None:
    page = open_page(PAGES[name], theme=theme, width=width)
    expect(page.locator("h1")).to_be_visible()
    if page.locator("#preview").count():
        expect(page.locator("#preview h2").first).to_be_visible(timeout=CHARTS_MS)
    assert_accessible(page, width)


def test_what_fires_stands_on_live_until_somebody_has_seen_it(open_page: Open, always: str) -> None:
    page = open_page("/live?range=15m")
    alert = on_live(page, always)
    expect(alert).to_contain_text("Firing", timeout=FIRES_MS)  # it comes by itself
    assert_accessible(page, 1280)
    alert.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("Seen by")).to_be_visible()
    narrow = open_page("/live?range=15m", theme="dark", width=390)
    expect(on_live(narrow, always)).to_contain_text("Seen")
    assert_accessible(narrow, 390)
    history = open_page("/alerts/history")
    expect(history.get_by_role("row").filter(has_text=always).first).to_contain_text("seen by")


def on_live(page: Page, rule: str) -> Locator:
    return page.get_by_role("region", name="Firing alerts").locator(".alert", has_text=rule)


def assert_accessible(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    found = Axe().run(page).response["violations"]
    serious = [(v["id"], v["help"], [n["target"] for n in v["nodes"][:3]]) for v in found]
    assert [v for v in found if v["impact"] in ("serious", "critical")] == [], serious
