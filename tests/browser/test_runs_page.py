"""Runs: filters in the URL, facets, rows that open."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.traffic import SHOP, Traffic

ROWS = "[data-rows] > tr"


def test_a_facet_narrows_the_list_and_its_token_widens_it_again(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs?service={SHOP}")
    expect(page.locator(ROWS)).to_have_count(4)
    page.locator(".facet", has_text="Status").get_by_role("link", name="failed").click()
    page.wait_for_url("**status=error*")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(".results-head")).to_contain_text("1 run")
    page.get_by_role("link", name="Remove status failed").click()
    expect(page.locator(ROWS)).to_have_count(4)


def test_least_wall_text_and_order(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs?service={SHOP}")
    page.get_by_label("Least wall time").fill("1200ms")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(ROWS)).to_have_count(2)
    page.locator("thead").get_by_role("link", name="Wall").click()
    page.wait_for_url("**sort=slowest*")
    walls = page.locator(f"{ROWS} td:nth-child(3)").all_inner_texts()
    assert [re.sub(r"\s", "", wall) for wall in walls] == ["1.60s", "1.30s"]
    page.goto(page.url.split("?")[0] + f"?q={traffic.failed[:32]}")
    expect(page.locator(ROWS)).to_have_count(1)


def test_bars_show_time_against_a_printed_scale(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs?service={SHOP}&sort=slowest")
    page.get_by_role("link", name="Time", exact=True).click()
    expect(page.locator("thead")).to_contain_text(re.compile(r"0 to 1\.60\ss"))
    widths = page.locator(f"{ROWS} .sb").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1]


def test_what_cannot_be_read_is_said(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/runs?min_wall=soon&status=broken")
    expect(page.locator(".problem")).to_have_count(2)
    expect(page.locator(".problem", has_text="wall ≥ soon")).to_contain_text("800ms, 5s or 2min")


def test_a_row_opens_its_run_by_click_and_by_key(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs?service={SHOP}&sort=slowest")
    page.locator(f"{ROWS} td:nth-child(8)").first.click()
    page.wait_for_url(f"**/runs/{traffic.shop[2]}")
    page.go_back()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{traffic.shop[1]}")


def test_a_segment_tells_its_figures_when_pointed_at(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[0]}")
    page.locator(".sb-head .sg-tool-execution").hover()
    expect(page.locator(".tip")).to_contain_text("Tool execution")
    expect(page.locator(".tip")).to_contain_text("client")
