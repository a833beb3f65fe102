"""Live: runs appear by themselves, and the page says how fresh it is."""

from __future__ import annotations

import re
import time

import httpx
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import CHARTS_MS, Open
from tests.browser.traffic import WATCHED, Traffic, shop_run
from tests.instance import Instance

STATE = "#connection"
WITHIN_MS = 2000


def up_to_date(page: Page) -> None:
    expect(page.locator(STATE)).to_have_text("Up to date")


def appears(page: Page, run_id: str, within_ms: float) -> None:
    expect(page.locator(f'#finishing [data-run="{run_id}"]')).to_be_visible(timeout=within_ms)


def test_a_run_appears_within_two_seconds_without_a_reload(
    open_page: Open, traffic: Traffic, instance: Instance
) -> None:
    page = open_page("/live?range=15m")
    up_to_date(page)
    # As somebody has it open: what is measured is the news, not the loading of the page.
    expect(page.locator("#stage-plot .main-svg").first).to_be_visible(timeout=CHARTS_MS)
    page.evaluate("window.stayed = true")
    run_id = shop_run(instance, service=WATCHED)
    acknowledged = time.monotonic()
    appears(page, run_id, WITHIN_MS)
    assert time.monotonic() - acknowledged <= WITHIN_MS / 1000
    assert page.evaluate("window.stayed")


def test_key_figures_and_charts_have_their_numbers(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/live?range=15m")
    expect(page.locator(".kpi")).to_have_count(9)
    expect(page.locator(".kpi [data-spark=errors] .spark-line")).to_have_count(1)
    expect(page.locator(".kpi", has_text="Errors")).to_contain_text(re.compile(r"of\s*[1-9]\d* runs?"))
    expect(page.locator("#stage-plot .main-svg").first).to_be_visible(timeout=CHARTS_MS)
    expect(page.locator("#stage-plot")).to_contain_text("Tool execution")
    page.get_by_role("button", name="Table").first.click()
    expect(page.locator("#stage-table tbody tr").first).to_be_visible()


def test_paused_it_stands_still_and_counts_what_it_missed(
    open_page: Open, traffic: Traffic, instance: Instance
) -> None:
    page = open_page("/live?range=15m")
    up_to_date(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(STATE)).to_have_text(re.compile(r"Paused at \d\d:\d\d:\d\d"))
    run_id = shop_run(instance, service=WATCHED)
    expect(page.locator("#connection-note")).to_have_text(re.compile(r"[1-9]\d* runs? since"))
    assert page.locator(f'#finishing [data-run="{run_id}"]').count() == 0
    page.get_by_role("button", name="Resume").click()
    appears(page, run_id, 5000)


def test_a_lost_connection_is_said_and_made_good(open_page: Open, traffic: Traffic, instance: Instance) -> None:
    page = open_page("/runs")
    refuse = True
    sockets: list[WebSocketRoute] = []

    def route(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if refuse and len(sockets) > 1:
            socket.close()
        else:
            socket.connect_to_server()

    page.route_web_socket("**/ws/live/**", route)
    page.goto(f"{instance.web}/live?range=15m")
    up_to_date(page)
    sockets[0].close()
    expect(page.locator(STATE)).to_have_text("Reconnecting")
    expect(page.locator("#connection-note")).to_have_text(re.compile(r"try \d"))
    run_id = shop_run(instance, service=WATCHED)
    refuse = False
    up_to_date(page)
    appears(page, run_id, 5000)  # its announcement was lost: the page asked again when it was back


def test_the_time_range_is_in_the_address(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/")
    page.wait_for_url("**/live")
    page.get_by_role("link", name="6 h", exact=True).click()
    page.wait_for_url("**/live?range=6h")
    expect(page.locator(".chart-panel").first).to_contain_text("by 5 minutes")


def test_a_cell_of_the_heat_map_opens_exactly_its_runs(open_page: Open, traffic: Traffic, instance: Instance) -> None:
    page = open_page("/live?range=15m")
    expect(page.locator("#wall-plot .heat-line")).to_have_count(1)
    box = page.locator("#wall-plot").bounding_box()
    assert box
    # The whole map by a drag: as many runs as the API counts in that time.
    page.mouse.move(box["x"] + 45, box["y"] + 11)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 9, box["y"] + box["height"] - 24, steps=4)
    page.mouse.up()
    page.wait_for_url("**/runs?from=*wall%3A*")
    query = httpx.URL(page.url).params
    told = instance.api.get("/summary", params={"from": query["from"], "to": query["to"], "of": "runs"}).json()
    expect(page.locator(".results-head b")).to_have_text(re.compile(rf"^{told['runs']} runs?$"))


def test_scrolling_back_holds_the_list_and_brings_older_runs(
    open_page: Open, traffic: Traffic, instance: Instance
) -> None:
    for _ in range(14 - min(12, page_rows(open_page))):
        shop_run(instance, service=WATCHED)
    page = open_page("/live?range=15m")
    up_to_date(page)
    rows = page.locator("#finishing [data-run]")
    expect(rows).to_have_count(12)
    page.get_by_role("button", name="Older ones").click()
    expect(page.locator(STATE)).to_have_text(re.compile("Paused at"))
    expect(page.locator("#finishing [data-run] >> nth=12")).to_be_visible()
    ids = rows.evaluate_all("rows => rows.map(row => row.dataset.run)")
    assert len(set(ids)) == len(ids)


def page_rows(open_page: Open) -> int:
    return open_page("/live?range=15m").locator("#finishing [data-run]").count()


def test_nothing_moves_when_runs_arrive(open_page: Open, traffic: Traffic, instance: Instance) -> None:
    """But the rows of the newest runs, which make room for newer ones."""
    page = open_page("/live?range=15m")
    up_to_date(page)
    expect(page.locator("#stage-plot .main-svg").first).to_be_visible(timeout=CHARTS_MS)
    page.evaluate("""() => {
        window.moved = 0;
        const isRow = source => source.node?.parentElement?.closest("#finishing");
        new PerformanceObserver(list => list.getEntries().forEach(e => {
            if (!e.sources.length || !e.sources.every(isRow)) window.moved += e.value;
        })).observe({ type: "layout-shift" });
    }""")
    for _ in range(3):
        appears(page, shop_run(instance, service=WATCHED), 5000)
    assert page.evaluate("window.moved") < 0.01


def test_a_panel_that_failed_says_so_until_it_is_refreshed(
    open_page: Open, traffic: Traffic, instance: Instance
) -> None:
    page = open_page("/live?range=15m")
    up_to_date(page)
    fails = True
    page.route("**/live/feeds*", lambda route: route.fulfill(status=422) if fails else route.continue_())
    failed = page.locator(".panel-failure")
    run_id = shop_run(instance, service=WATCHED)
    expect(page.locator("#live-feeds > .panel-failure")).to_have_text(
        re.compile("Not refreshed: the server answered 422")
    )
    expect(failed).to_have_count(1)  # the other panels go on
    fails = False
    appears(page, shop_run(instance, service=WATCHED), 5000)
    appears(page, run_id, 5000)
    expect(failed).to_have_count(0)
