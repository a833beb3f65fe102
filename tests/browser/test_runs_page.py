"""Runs: the query line, facets, columns, views, the histogram, exports, rows that open."""

from __future__ import annotations

import datetime as dt
import json
import re
from zoneinfo import ZoneInfo

import httpx
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.traffic import SHOP, Traffic
from tests.instance import Instance
from tests.polling import until

ROWS = "[data-rows] > tr"
HEAD = ".runs-table thead"
SHOPS = f"/runs?q=service:{SHOP}"


def written(page: Page) -> list[str | None]:
    return [chip.get_attribute("data-term") for chip in page.locator(".tok").all()]


def test_a_facet_narrows_the_list_and_its_token_widens_it_again(open_page: Open, traffic: Traffic) -> None:
    page = open_page(SHOPS)
    expect(page.locator(ROWS)).to_have_count(4)
    page.locator(".facet", has_text="Status").get_by_role("link", name="failed").click()
    page.wait_for_url("**status%3Aerror*")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator(".results-head")).to_contain_text("1 run")
    page.locator(".facet", has_text="Status").get_by_role("link", name="ok").click()
    expect(page.locator(ROWS)).to_have_count(4)  # of one field any value will do
    page.get_by_role("link", name="Remove status:error,ok").click()
    assert written(page) == [f"service:{SHOP}"]


def test_the_line_completes_from_real_values_by_keys(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/runs")
    page.keyboard.press("/")
    page.keyboard.type("serv")
    expect(page.get_by_role("option", name="service: service that ran it")).to_be_visible()
    page.keyboard.type("ice:browser-sh")
    expect(page.get_by_role("option")).to_have_count(1)
    expect(page.get_by_role("option", name=re.compile(rf"{SHOP}.*4 runs"))).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_contain_text(SHOP)
    page.keyboard.press("Enter")
    expect(page.locator(".query-input")).to_have_value(f"service:{SHOP} ")
    page.keyboard.type("stage.tool_ex")
    expect(page.get_by_role("option", name=re.compile(r"stage\.tool_execution>20%.*of these 4 runs"))).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.type("ecution>45%")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=service%3A*")
    expect(page.locator(ROWS)).to_have_count(1)  # 800 of 1 600 ms; the next has 500 of 1 300
    assert written(page) == [f"service:{SHOP}", "stage.tool_execution>45%"]
    page.locator(".query-input").focus()
    page.keyboard.press("Backspace")  # in the empty line the last condition is text again
    expect(page.locator(".query-input")).to_have_value("stage.tool_execution>45%")


def test_an_error_is_marked_where_it_is(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs?q=service:{SHOP}+wal>5s&range=soon")
    expect(page.locator(".query-refused")).to_contain_text("is it wall?")
    expect(page.locator(".query-refused mark")).to_have_text("wal>5s")
    expect(page.locator(".query-input")).to_be_focused()
    expect(page.locator(".problem", has_text="range=soon")).to_contain_text("15m, 6h or 7d")
    expect(page.locator(ROWS)).to_have_count(0)


def test_order_columns_and_bars_are_in_the_address(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"{SHOPS}+wall>1200ms")
    page.locator(HEAD).get_by_role("link", name="Wall").click()
    page.wait_for_url("**sort=slowest*")
    walls = page.locator(f"{ROWS} .k-wall")
    assert [re.sub(r"\s", "", wall) for wall in walls.all_inner_texts()] == ["1.60s", "1.30s"]
    page.locator(HEAD).get_by_role("link", name="Wall").click()
    page.wait_for_url("**sort=fastest*")
    assert [re.sub(r"\s", "", wall) for wall in walls.all_inner_texts()] == ["1.30s", "1.60s"]
    page.get_by_text("Columns", exact=True).click()
    page.locator(".columns-list").get_by_label("Tool execution").check()
    page.locator(".columns-list").get_by_label("Hit").uncheck()
    page.locator(".columns-list").get_by_role("button", name="Show").click()
    expect(page.locator(HEAD)).to_contain_text("Tool execution")
    expect(page.locator(HEAD)).not_to_contain_text("Hit")
    page.get_by_role("link", name="Time", exact=True).click()
    expect(page.locator(HEAD)).to_contain_text(re.compile(r"0 to 1\.60\ss"))
    widths = page.locator(f"{ROWS} .sb").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert widths[0] < widths[-1]


def test_a_drag_over_the_histogram_narrows_the_range(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"{SHOPS}&range=15m")
    plot = page.locator("[data-timeline]")
    box = plot.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 3, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 3, y, steps=4)
    expect(page.locator(".timeline-brush")).to_be_visible()
    page.mouse.up()
    page.wait_for_url("**from=*to=*")
    expect(page.locator(ROWS)).to_have_count(4)
    page.get_by_role("button", name="Table").click()
    expect(page.locator("#timeline-table tbody tr").first).to_be_visible()


def test_a_saved_view_is_there_again(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"{SHOPS}+status:error&sort=slowest")
    page.get_by_text("Views: none saved").click()
    page.get_by_label("Save this list as").fill("Failed shops")
    page.get_by_role("button", name="Save view").click()
    page.goto(page.url.split("?")[0])
    page.get_by_text("Views", exact=True).click()
    page.get_by_role("link", name="Failed shops").click()
    page.wait_for_url("**sort=slowest*")
    assert written(page) == [f"service:{SHOP}", "status:error"]
    page.get_by_text("Views", exact=True).click()
    page.get_by_role("button", name="Remove the view Failed shops").click()
    expect(page.get_by_text("Views: none saved")).to_be_visible()


def test_exports_hold_the_list_and_otlp_can_be_sent_again(
    open_page: Open, traffic: Traffic, instance: Instance
) -> None:
    page = open_page(f"{SHOPS}+status:error")
    links = {}
    page.get_by_text("Export", exact=True).click()
    for form in ("CSV", "JSON", "OTLP"):
        links[form] = instance.web + str(page.get_by_role("link", name=re.compile(f"^{form}")).get_attribute("href"))
    told = {form: httpx.get(link).raise_for_status() for form, link in links.items()}
    assert [line.split(",")[0] for line in told["CSV"].text.splitlines()] == ["run_id", traffic.failed]
    assert [run["run_id"] for run in told["JSON"].json()["runs"]] == [traffic.failed]
    old, new = traffic.failed[:32], "ab" * 16
    again = told["OTLP"].text.replace(old, new)
    assert again != told["OTLP"].text
    sent = httpx.post(f"{instance.otlp_http}/v1/traces", json=json.loads(again)).raise_for_status()
    assert sent.json() == {}
    until(lambda: instance.api.get(f"/runs/{new}{traffic.failed[32:]}").status_code == 200, 20, "it is a run again")
    one, two = (instance.api.get(f"/runs/{trace}{traffic.failed[32:]}").json() for trace in (old, new))
    assert {key: one[key] for key in ("stages_ns", "outside_ns", "wall_ns")} == {
        key: two[key] for key in ("stages_ns", "outside_ns", "wall_ns")
    }


def test_a_row_opens_its_run_by_click_and_by_key(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"{SHOPS}+-trace:abababab&sort=slowest")
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


def test_a_range_of_ones_own_in_a_zone_of_ones_own(open_page: Open, traffic: Traffic) -> None:
    page = open_page(SHOPS)
    page.locator(".timing-more summary").click()
    page.get_by_label("From").fill("2026-03-29 01:30")  # the night in which Zurich's clocks go forward
    page.get_by_label("To", exact=True).fill("2026-03-29 03:30")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**from=*to=*")
    query = httpx.URL(page.url).params
    assert int(query["to"]) - int(query["from"]) == 3600 * 10**9
    page.locator(".timing-zone summary").click()
    page.get_by_role("button", name="UTC", exact=True).click()
    page.wait_for_url("**zone=UTC*")
    expect(page.locator("[data-zone]")).to_have_text("UTC")
    expect(page.locator(".timing-more summary")).to_contain_text("29 Mar 00:30 to 29 Mar 01:30")
    page.get_by_role("link", name="Live", exact=True).click()
    page.wait_for_url("**zone=UTC*")


def test_keys_are_listed_and_anything_is_found(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/engines")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("pause, go on")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    elsewhere = page.url.replace("/engines", "/settings/")
    for text, leads_to in (
        (traffic.failed, f"**/runs/{traffic.failed}"), (traffic.failed[:32], f"**/runs/{traffic.failed}"),
        ("engines", "**/engines"), (f"service:{SHOP}", "**/runs?q=service*"), ("a:b", "**/runs?q=%22a%3Ab%22*"),
    ):  # fmt: skip
        page.goto(elsewhere)
        page.locator("[data-find]").fill(text)
        page.keyboard.press("Enter")
        page.wait_for_url(leads_to)


def test_clocks_are_those_of_the_chosen_zone(open_page: Open, traffic: Traffic) -> None:
    """Half-hour offsets, days on which clocks change, and clock times that the browser's own zone (Zurich) skips."""
    days = {
        "Asia/Kolkata": [dt.datetime(2025, 3, 30, 2, 30)],  # noqa: DTZ001
        "Australia/Lord_Howe": [dt.datetime(2025, 10, 5), dt.datetime(2025, 4, 6)],  # noqa: DTZ001
        "America/St_Johns": [dt.datetime(2025, 11, 2), dt.datetime(2025, 3, 9)],  # noqa: DTZ001
        "Europe/Zurich": [dt.datetime(2025, 3, 30), dt.datetime(2025, 10, 26)],  # noqa: DTZ001
    }
    for name, begins in days.items():
        zone = ZoneInfo(name)
        seconds = [int(at.replace(tzinfo=zone).timestamp()) + half * 1800 for at in begins for half in range(12)]
        page = open_page(f"/runs?zone={name}&q=service:{SHOP}")
        told = page.evaluate(
            """async all => {
                const { fieldTime, readFieldTime } = await import("sixstage/times.js");
                return all.map(ns => [fieldTime(ns), readFieldTime(fieldTime(ns))]);
            }""",
            [f"{second}000000000" for second in seconds],
        )
        for second, (shown, read) in zip(seconds, told, strict=True):
            clock = dt.datetime.fromtimestamp(second, zone)
            assert shown == f"{clock:%Y-%m-%d %H:%M}"
            assert dt.datetime.fromtimestamp(int(read) // 10**9, zone).replace(fold=0) == clock.replace(fold=0)
        ended = page.locator(f"{ROWS} time").first
        second = int(ended.get_attribute("data-ns") or 0) // 10**9
        clock = dt.datetime.fromtimestamp(second, zone)
        expect(ended).to_have_attribute("title", re.compile(f"^{clock:%H:%M:%S} on {clock.day} {clock:%b %Y}, UTC"))
