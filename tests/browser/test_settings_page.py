"""Settings in the browser: a key is made, shown once, and revoked; the page and the API's own are whole."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Open


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_it_is_whole_and_accessible(open_page: Open, theme: str, width: int) -> None:
    page = open_page("/settings/", theme=theme, width=width)
    expect(page.get_by_role("heading", name="Ingest keys")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    found = Axe().run(page).response["violations"]
    assert [(v["id"], v["help"]) for v in found if v["impact"] in ("serious", "critical")] == []


def test_a_key_is_made_shown_once_and_revoked(open_page: Open) -> None:
    page = open_page("/live")
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Name of a new key").fill("checkout")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_text("is not shown again")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^sxi_[\w-]{40,}$"))).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_text(re.compile(r"sxi_[\w-]{40,}"))).to_have_count(0)
    page.get_by_role("button", name="Revoke checkout").first.click()
    expect(page.get_by_text(re.compile("^Revoked")).first).to_be_visible()


def test_the_description_of_the_api_can_be_read(open_page: Open) -> None:
    page = open_page("/api/v1/docs")
    expect(page.get_by_text("/api/v1/runs/{run_id}")).to_be_visible()
