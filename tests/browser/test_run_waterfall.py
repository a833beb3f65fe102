"""The waterfall by pointer, at sizes at which others give up, and with names of every kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.traffic import Traffic
from tests.instance import Instance
from tests.large_runs import MS, LargeRun, deep_run, wide_run
from tests.polling import until

ROW, CHOSEN = ".wf-row", ".wf-row[aria-selected=true]"
LANES = {"light": 1280, "dark": 390}
STEP_MS = 1_000  # of a processor, for one step in a run at which others give up; measured are 60 to 300
LONG = "AgentWorkflowBase.run_next_step"
NAMES = ("x" * 400, "查询订单状态并汇总结果", "🚚📦 parcel 👩‍👩‍👧", "ابحث عن الطلب", "e\u0301\u0323" * 30, LONG)


def known(instance: Instance, run: LargeRun) -> str:
    """The path of its page, once the run is settled."""
    run_id = run.send(instance.otlp_http)

    def settled() -> bool:
        answer = instance.api.get(f"/runs/{run_id}")
        return answer.status_code == 200 and not answer.json()["provisional"]

    until(settled, 60, f"run {run_id} is decomposed")
    return f"/runs/{run_id}"


def opened(page: Page) -> Page:
    expect(page.locator("#side .side-title")).to_be_visible()
    return page


def becomes(page: Page, told: str) -> None:
    """Asks again and again from here: what Playwright asks from within the page, the page's policy forbids."""
    until(lambda: page.evaluate(told), 15, told)


@contextmanager
def at_most(page: Page, ms: int) -> Iterator[None]:
    """What is done within may take the page's main thread so much of a processor's time, however busy the machine."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent_s() -> float:
        told = session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in told if one["name"] == "TaskDuration")

    before = spent_s()
    yield
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    took_ms = (spent_s() - before) * 1e3
    session.detach()
    assert took_ms < ms, f"{took_ms:.0f} ms of the main thread"


def ticks(page: Page) -> str:
    return page.locator(".wf-axis").inner_text()


def shown_share(page: Page) -> float:
    """How much of the run is shown, by the frame in the map."""
    frame, whole = page.locator(".map-window").bounding_box(), page.locator(".map-ribbon").bounding_box()
    assert frame
    assert whole
    return frame["width"] / whole["width"]


def test_dragging_moves_and_the_wheel_zooms_about_the_pointer(open_page: Open, traffic: Traffic) -> None:
    page = opened(open_page(f"/runs/{traffic.large}"))
    page.locator(".wf-scroll").scroll_into_view_if_needed()
    box = page.locator(".wf-scroll").bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    for _ in range(6):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    becomes(page, "document.querySelector('.map-window').style.left !== '0%'")
    assert shown_share(page) < 0.4
    before, chosen = ticks(page), page.url
    page.mouse.down()
    page.mouse.move(x - 200, y - 150, steps=8)
    page.mouse.up()
    becomes(page, "document.querySelector('.wf-scroll').scrollTop > 100")
    assert ticks(page) != before
    assert page.url == chosen, "a drag is no click"
    page.mouse.wheel(120, 0)
    page.keyboard.press("Shift+ArrowLeft")
    page.get_by_role("button", name="Fit").click()
    becomes(page, "document.querySelector('.map-window').style.left === '0%'")


def test_a_stretch_is_chosen_in_the_map_and_two_fingers_zoom(open_page: Open, traffic: Traffic) -> None:
    page = opened(open_page(f"/runs/{traffic.large}"))
    page.locator(".wf-scroll").scroll_into_view_if_needed()
    whole, rows = page.locator(".map-ribbon").bounding_box(), page.locator(".wf-scroll").bounding_box()
    assert whole
    assert rows
    page.mouse.move(whole["x"] + whole["width"] * 0.25, whole["y"] + 14)
    page.mouse.down()
    page.mouse.move(whole["x"] + whole["width"] * 0.75, whole["y"] + 14, steps=3)
    page.mouse.up()
    becomes(page, "parseFloat(document.querySelector('.map-window').style.left) > 20")
    before = shown_share(page)
    assert 0.4 < before < 0.6
    touch = page.context.new_cdp_session(page)
    x, y = rows["x"] + rows["width"] * 0.7, rows["y"] + 60
    for kind, apart in (("touchStart", 20), ("touchMove", 40), ("touchMove", 80), ("touchEnd", None)):
        fingers = [] if apart is None else [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    becomes(page, f"parseFloat(document.querySelector('.map-window').style.left) > {25 + before * 5}")
    assert shown_share(page) < before * 0.6


def test_arrows_fold_move_and_go_through_rows(open_page: Open, traffic: Traffic) -> None:
    page = opened(open_page(f"/runs/{traffic.shop[0]}"))
    page.locator(ROW).first.click()
    page.locator(".wf-scroll").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(ROW)).to_have_count(1)
    expect(page.locator(f"{ROW} .blk.within").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator(ROW)).to_have_count(5)
    page.keyboard.press("End")
    expect(page.locator(CHOSEN)).to_have_attribute("aria-rowindex", "5")
    page.keyboard.press("[")
    expect(page.locator(CHOSEN)).to_have_attribute("aria-rowindex", "1")
    page.keyboard.press("f")
    expect(page.locator(CHOSEN)).to_contain_text("tiny-70b")
    expect(page.locator(f"{CHOSEN} .first")).to_have_count(1)


def test_raw_times_and_the_critical_path_are_switched(open_page: Open, traffic: Traffic) -> None:
    page = opened(open_page(f"/runs/{traffic.shop[0]}"))
    assert page.locator(".wf-path path").get_attribute("d")
    page.keyboard.press("c")
    expect(page.locator(".wf-path path")).to_have_attribute("d", "")
    page.get_by_role("button", name="Raw times").click()
    expect(page.locator(f"{ROW} .first")).to_have_count(0)
    page.get_by_role("button", name="Raw times").click()
    expect(page.locator(f"{ROW} .first").first).to_be_visible()


def test_the_head_says_what_cost_most_and_what_would_have_helped(open_page: Open, traffic: Traffic) -> None:
    page = opened(open_page(f"/runs/{traffic.shop[2]}"))
    expect(page.locator(".cost b")).to_have_text(re.compile(r"^Tool execution cost most: .* of the run\.$"))
    expect(page.locator(".helps-table tr").first).to_contain_text("at most")
    sums = page.locator(".rounds tfoot td").all_inner_texts()
    assert "800" in "".join(sums)
    for link in ("OTLP JSON", "Picture"):
        with page.expect_download() as download:
            page.get_by_role("link", name=link).click()
        assert traffic.shop[2] in unquote(download.value.suggested_filename)


@pytest.mark.parametrize(("theme", "width"), LANES.items())
def test_names_of_every_kind_keep_their_place(open_page: Open, instance: Instance, theme: str, width: int) -> None:
    run = LargeRun("names-agent", 900 * MS)
    run.round(0, 400 * MS, 1)
    for number, name in enumerate(NAMES):
        run.add(name, (400 + number) * MS, (500 + number) * MS, run.root)
    page = opened(open_page(known(instance, run), theme=theme, width=width))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    heights = {round(box["height"]) for row in page.locator(ROW).all() if (box := row.bounding_box())}
    assert heights == {26}
    if width > 640:  # a name without room gives way at its beginning, where it differs least
        cut, kept = page.locator(ROW, has_text=LONG).locator(".wf-name .clip .clip").all()
        assert cut.evaluate("node => node.scrollWidth > node.clientWidth")
        assert kept.evaluate("node => node.scrollWidth <= node.clientWidth")
    page.locator(ROW, has_text="查询订单").click()
    expect(page.locator("#side .side-title")).to_have_text(NAMES[1])
    page.get_by_role("searchbox", name="Find in spans").fill("ابحث")
    expect(page.locator(ROW)).to_have_count(2)


def test_five_megabytes_of_text_come_a_piece_at_a_time(open_page: Open, instance: Instance) -> None:
    run = LargeRun("texts-agent", 900 * MS)
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "tiny-70b"}
    texts = {f"gen_ai.prompt.{n}.content": f"\x1b[31m<b>{n}</b> " + "word " * 199_000 for n in range(5)}
    span = run.add("chat tiny-70b", 0, 800 * MS, run.root, **call, **texts)
    page = opened(open_page(f"{known(instance, run)}#span={span.hex()}"))
    expect(page.locator("#side summary", has_text="gen_ai.prompt")).to_have_count(5)
    assert page.evaluate("document.documentElement.outerHTML.length") < 400_000
    page.locator("#side summary", has_text="gen_ai.prompt.4").click()
    text = page.locator("#side details[open] pre")
    expect(text).to_contain_text("␛[31m<b>4</b> word")
    page.locator("#side details[open]").get_by_role("link", name=re.compile("^Show all")).click()
    expect(page.locator("#side details[open] p")).to_have_count(0)
    assert len(text.text_content() or "") == 995_014


def test_a_chain_of_five_thousand_can_be_followed(open_page: Open, instance: Instance) -> None:
    page = opened(open_page(known(instance, deep_run(5_000))))
    page.locator(".wf-scroll").focus()
    with at_most(page, STEP_MS):
        page.keyboard.press("End")
        expect(page.locator(CHOSEN)).to_contain_text("tiny-70b")
    with at_most(page, STEP_MS):
        page.keyboard.press("[")
        expect(page.locator(CHOSEN)).to_contain_text("step 4997")
    expect(page.locator("#side .side-title")).to_have_text("step 4997")
    name = page.locator(f"{CHOSEN} .wf-name > .clip").bounding_box()
    assert name
    assert name["width"] > 40, "its name has no room"


def test_a_parent_of_twenty_thousand_folds_opens_and_is_searched(open_page: Open, instance: Instance) -> None:
    page = opened(open_page(known(instance, wide_run(20_000))))
    expect(page.locator("#span-count")).to_contain_text(re.compile(r"20\s001 spans"))
    with at_most(page, STEP_MS):
        page.locator(f"{ROW} .twist").first.click()
        expect(page.locator(ROW)).to_have_count(1)
    with at_most(page, STEP_MS):
        page.locator(f"{ROW} .twist").first.click()
        expect(page.locator(ROW, has_text="fetch page 3").first).to_contain_text("at the same time as 4 siblings")
    with at_most(page, STEP_MS):
        page.locator(".wf-scroll").evaluate("node => { node.scrollTop = node.scrollHeight; }")
        expect(page.locator(ROW).last).to_have_attribute("aria-rowindex", "20001")
    assert page.locator(ROW).count() < 80
    with at_most(page, STEP_MS):
        page.keyboard.press("w")
        becomes(page, "['left', 'right'].some(side => document.querySelector('.map-window').style[side] !== '0%')")
    with at_most(page, STEP_MS):
        page.get_by_role("searchbox", name="Find in spans").fill("page 19998")
        expect(page.locator(ROW)).to_have_count(2)
