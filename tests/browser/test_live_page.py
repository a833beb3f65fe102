"""Live: runs appear by themselves, and the page says how fresh it is."""

from __future__ import annotations

import re
import time

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
    expect(page.locator(".kpi")).to_have_count(8)
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
    page.get_by_role("link", name="6 h").click()
    page.wait_for_url("**/live?range=6h")
    expect(page.locator(".chart-panel").first).to_contain_text("by 5 minutes")
