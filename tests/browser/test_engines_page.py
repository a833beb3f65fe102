"""Engines: the list, one in full, and what the run page says of them, in a browser."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import CHARTS_MS, Open
from tests.browser.test_every_page import LOOKS, SERIOUS
from tests.instance import Instance
from tests.integration.engines import served as pages
from tests.integration.engines.served import Handler, serving
from tests.large_runs import MS, LargeRun
from tests.polling import until

NAME, MODEL = "vllm-in-the-browser", "tiny-llama"


def rising(began_s: float) -> pages.Answer:
    """A real page whose counters rise, and whose batch grows and shrinks."""

    def answer(handler: Handler) -> None:
        number = int((time.monotonic() - began_s) * 10)
        page = pages.REAL.replace(b"7283.0", b"%d.0" % (7283 + number)).replace(b"26.0\n", b"%d.0\n" % (26 + number))
        for gauge, value in ((b"num_requests_running", number % 23), (b"kv_cache_usage_perc", number % 23 / 25)):
            line = b'vllm:%s{engine="0",model_name="%s"}' % (gauge, MODEL.encode())
            page = page.replace(line + b" 0.0", line + b" %.2f" % value)
        handler.answer(page)

    return answer


@pytest.fixture(scope="module")
def engines(instance: Instance) -> Iterator[dict[str, int]]:
    """One that serves, and one that is not there."""
    with serving() as server:
        url = server.put("/metrics", rising(time.monotonic()))
        made = {}
        for name, address in ((NAME, url), ("gone-in-the-browser", "http://127.0.0.1:1/metrics")):
            told = {"name": name, "url": address, "interval_ms": 1_000}
            made[name] = instance.api.post("/engines", json=told).raise_for_status().json()["id"]
        until(lambda: scrapes(instance, made[NAME]) >= 3, 60, "the engine has been scraped")
        yield made
        for one in made.values():
            instance.api.delete(f"/engines/{one}")


def scrapes(instance: Instance, engine_id: int) -> int:
    return instance.api.get(f"/engines/{engine_id}").json()["scrapes"]


@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [(name, *look) for name in ("list", "engine") for look in LOOKS] + [("failing", *look) for look in LOOKS[::3]],
)
def test_it_is_whole_and_accessible(
    open_page: Open, engines: dict[str, int], name: str, theme: str, width: int
) -> None:
    path = {"list": "/engines", "engine": f"/engines/{engines[NAME]}?range=15m",
            "failing": f"/engines/{engines['gone-in-the-browser']}"}[name]  # fmt: skip
    page = open_page(path, theme=theme, width=width)
    expect(page.locator("h1")).to_be_visible()
    if name == "engine":
        expect(page.locator("[data-chart=load] .main-svg").first).to_be_visible(timeout=CHARTS_MS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    cut = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"
    assert page.locator(".engine-tiles .kpi-sides").evaluate_all(cut) == [], "a figure is cut off"
    found = Axe().run(page).response["violations"]
    assert not [(v["id"], [n["target"] for n in v["nodes"][:3]]) for v in found if v["impact"] in SERIOUS]


def test_the_list_says_how_each_is_and_leads_to_it(open_page: Open, engines: dict[str, int]) -> None:
    page = open_page("/live")
    page.keyboard.press("g")
    page.keyboard.press("e")
    page.wait_for_url("**/engines*")
    expect(page.get_by_role("row", name="gone-in-the-browser")).to_contain_text("No metrics: cannot be reached")
    page.get_by_role("row", name=NAME).get_by_role("link", name=NAME).click()
    page.wait_for_url(f"**/engines/{engines[NAME]}*")
    expect(page.locator("h1")).to_have_text(NAME)


def test_figures_are_drawn_and_stand_in_tables(open_page: Open, engines: dict[str, int]) -> None:
    page = open_page(f"/engines/{engines[NAME]}?range=15m")
    chart = page.locator("[data-chart=tokens]")
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".main-svg").first).to_be_visible(timeout=CHARTS_MS)
    page.locator("[data-toggle=table-tokens]").click()
    expect(page.locator("#table-tokens")).to_contain_text("out")


def test_the_page_stays_up_to_date_by_itself(open_page: Open, engines: dict[str, int]) -> None:
    page = open_page(f"/engines/{engines[NAME]}?range=15m")
    before = page.locator("#engine-now time").first.get_attribute("data-ns")
    expect(page.locator("#engine-now time").first).not_to_have_attribute("data-ns", before or "", timeout=30_000)


def test_a_target_is_added_and_refused_in_words(open_page: Open, engines: dict[str, int]) -> None:
    page = open_page("/engines")
    page.get_by_label("Metrics").fill("http://169.254.169.254/latest")
    page.get_by_role("button", name="Add engine").click()
    expect(page.get_by_role("alert")).to_contain_text("link-local")
    expect(page.get_by_label("Metrics")).to_have_value("http://169.254.169.254/latest")


@pytest.mark.parametrize(("theme", "width"), LOOKS[::3])
def test_a_call_shows_what_its_engine_was_doing_meanwhile(
    open_page: Open, instance: Instance, engines: dict[str, int], theme: str, width: int
) -> None:
    """Real scrapes around a call of the only engine that serves its model."""
    until(lambda: scrapes(instance, engines[NAME]) >= 5, 60, "there are scrapes before the call")
    run = LargeRun("watched-agent", 3_000 * MS)
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL}
    call = run.add(f"chat {MODEL}", 100 * MS, 2_900 * MS, run.root, **told).hex()
    run_id = run.send(instance.otlp_http)

    def state() -> dict | None:
        answer = instance.api.get(f"/runs/{run_id}")
        return answer.json()["calls"][0]["engine_state"] if answer.status_code == 200 else None

    until(lambda: (found := state()) and found["state"]["after"], 60, "the scrape after the call has come")
    page = open_page(f"/runs/{run_id}#span={call}", theme=theme, width=width)
    side = page.locator("#side")
    expect(side).to_contain_text("Its engine meanwhile")
    expect(side.get_by_role("link", name=NAME)).to_have_attribute("href", re.compile(f"/engines/{engines[NAME]}"))
    for strip in ("Running", "Waiting", "KV cache"):
        row = side.locator(".strip", has_text=strip)
        assert len(re.findall(r"[ML]", row.locator(".spark-line").get_attribute("d") or "")) >= 3
        expect(row.locator(".strip-call")).to_have_attribute("width", re.compile(r"^[1-9]"))
    row = page.get_by_role("region", name="Engines meanwhile").get_by_role("row", name=NAME)
    expect(row).to_contain_text(re.compile(r"\d"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if shots := os.environ.get("PAGE_SHOTS"):
        page.screenshot(path=f"{shots}/engine-{theme}-{width}.png", full_page=True)
