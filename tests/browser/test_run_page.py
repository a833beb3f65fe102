"""Run: exact figures, the waterfall, and texts that are only texts."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Open
from tests.browser.traffic import HOSTILE, LARGE, Traffic
from tests.instance import Instance
from tests.large_runs import MS, LargeRun
from tests.polling import until

ROW = ".wf-row"


def thousandths(text: str) -> int:
    """14.795 s → 14795."""
    return int(re.sub(r"[^0-9.]", "", text).replace(".", ""))


def test_the_ten_and_the_rounds_add_up_to_the_wall_on_the_page(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[2]}")
    wall = thousandths(page.locator(".run-wall").inner_text())
    amounts = page.locator(".split .amount").all_inner_texts()
    times = page.locator(".rounds tbody td:nth-child(4)").all_inner_texts()
    assert len(amounts) == 10
    assert sum(map(thousandths, amounts)) == sum(map(thousandths, times)) == wall == 1600


def test_a_row_chosen_by_click_shows_its_span(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[0]}")
    expect(page.locator("#side .side-title")).to_be_visible()
    page.locator(ROW, has_text="search_orders").click()
    expect(page.locator("#side .side-title")).to_have_text("search_orders")
    expect(page.locator("#side")).to_contain_text('{"order": "88-1042"}')
    assert re.search(r"#span=[0-9a-f]{16}$", page.url)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#side").get_by_role("button", name="Copy link").click()
    expect(page.locator("#side").get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    # The address leads there again.
    page.goto(page.url)
    page.reload()
    expect(page.locator("#side .side-title")).to_have_text("search_orders")
    expect(page.locator(f"{ROW}[aria-selected=true]")).to_contain_text("search_orders")


def test_keys_move_through_spans_and_zoom(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[0]}")
    expect(page.locator("#side .side-title")).to_be_visible()
    page.locator(ROW).first.click()
    page.keyboard.press("j")
    expect(page.locator(f"{ROW}[aria-selected=true]")).to_contain_text("tiny-70b")
    expect(page.locator("#side")).to_contain_text("Time to first token")
    before = page.locator(".map-window").bounding_box()
    page.keyboard.press("w")
    after = page.locator(".map-window").bounding_box()
    assert before
    assert after
    assert after["width"] < before["width"] * 0.6
    page.get_by_role("button", name="Fit").click()
    expect(page.locator(".wf-axis")).to_contain_text("0.0")


def test_branches_fold_and_search_keeps_what_is_above(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[0]}")
    expect(page.locator(ROW)).to_have_count(5)
    page.get_by_role("searchbox", name="Find in spans").fill("policy")
    expect(page.locator(ROW)).to_have_count(2)
    expect(page.locator("#span-count")).to_have_text(re.compile("1 of 5"))
    page.get_by_role("searchbox", name="Find in spans").fill("")
    page.locator(f"{ROW} .twist").first.click()
    expect(page.locator(ROW)).to_have_count(1)


def test_hostile_names_and_texts_are_shown_as_text(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.hostile}")
    expect(page.locator("#side .side-title")).to_be_visible()
    tool = page.locator(ROW, has_text="onerror").nth(1)
    expect(tool).to_contain_text("a⟨U+202E⟩b␛[31m<img")
    tool.click()
    expect(page.locator("#side .side-title")).to_contain_text("<script>")
    _unfold(page, "gen_ai.tool.call.result")
    text = page.locator("#side details[open] pre")
    expect(text).to_contain_text(HOSTILE)
    page.get_by_role("link", name=re.compile("Show all")).click()
    expect(page.locator("#side details[open] p")).to_have_count(0)
    assert len(text.text_content() or "") == len(HOSTILE) * 4000  # blocks out of sight are not laid out
    assert page.locator("img, #side script, main script:not([type='application/json'])").count() == 0
    assert page.title() != "owned"


def test_prompts_show_other_scripts_and_name_marks_that_turn_text(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.hostile}")
    expect(page.locator("#side .side-title")).to_be_visible()
    page.locator(ROW, has_text="tiny-70b").first.click()
    _unfold(page, "gen_ai.input.messages")
    expect(page.locator("#side details[open] pre")).to_contain_text("你好 مرحبا 🙂 ⟨U+202E⟩gnp.exe")


def test_whatever_else_a_span_brings_is_shown_as_text(open_page: Open, instance: Instance) -> None:
    bad = f"a\u202eb\x1b[31m{HOSTILE}"
    run = LargeRun(bad, 900 * MS)
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": bad,
        "gen_ai.conversation.id": bad,
        "session.id": bad,
    }
    call = run.add(
        bad,
        10 * MS,
        700 * MS,
        run.root,
        **told,
        **{bad: bad, "url": "javascript:alert(1)", "image": "data:image/svg+xml;base64," + "PHN2" * 90},
    )
    span = next(span for span in run.spans if span.span_id == call)
    span.status.code, span.status.message = span.status.STATUS_CODE_ERROR, bad
    event = span.events.add(name=bad, time_unix_nano=span.start_time_unix_nano)
    event.attributes.add(key=bad).value.string_value = bad
    run_id = run.send(instance.otlp_http)
    until(lambda: instance.api.get(f"/runs/{run_id}").status_code == 200, 60, "the run is seen")
    page = open_page(f"/runs/{run_id}#span={call.hex()}")
    expect(page.locator("#side .side-status").first).to_contain_text("a⟨U+202E⟩b␛[31m<img")
    for summary in page.locator("#side summary").all():
        if summary.is_visible():
            summary.click()
    for place in (".crumb", "h1", ".run-who", "#side .side-title", "#side .attrs", "#side details[open] pre"):
        expect(page.locator(place, has_text="a⟨U+202E⟩b␛[31m<img").first).to_be_visible()
    assert (
        page.locator(
            "img, svg script, #side script, main script:not([type='application/json']), [href^=javascript]"
        ).count()
        == 0
    )
    assert page.title() != "owned"


def test_spans_that_run_at_the_same_time_say_so(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[0]}")
    for tool in ("search_orders", "get_policy"):
        row = page.locator(ROW, has_text=tool)
        expect(row).to_contain_text("at the same time as 1 sibling")
        expect(row.locator(".shared")).to_have_count(1)
    assert page.locator(f"{ROW} .beside").count() == 2
    expect(page.locator(ROW, has_text="search_orders")).to_contain_text(re.compile(r"tool parsing 10\sms"))
    lines = page.locator(".shared").evaluate_all("all => all.map(each => [each.style.left, each.style.width].join())")
    assert len(set(lines)) == 1, "both mark the same stretch of time"


def test_the_keys_are_listed(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.shop[0]}")
    expect(page.locator("#side .side-title")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("critical path")
    expect(keys).to_contain_text("next span")
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)


def test_the_way_back_keeps_range_and_zone(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/runs?range=6h&zone=Asia%2FTokyo")
    page.locator(f"a[href*='{traffic.shop[0]}']").first.click()
    expect(page.locator(".run-who")).to_contain_text("Tokyo")
    for name in ("Runs", "Live"):
        link = page.get_by_role("navigation", name="Pages").get_by_role("link", name=name)
        expect(link).to_have_attribute("href", re.compile(r"\?(?=.*range=6h)(?=.*zone=Asia%2FTokyo)"))
    page.get_by_role("navigation", name="Where this run is").get_by_role("link", name="Runs").click()
    page.wait_for_url("**/runs?*")
    expect(page.get_by_role("navigation", name="Time range").get_by_role("link", name="6 h")).to_have_attribute(
        "aria-current", "true"
    )


def _unfold(page: Page, key: str) -> None:
    page.locator("#side summary", has_text=key).click()


def test_two_thousand_spans_stay_light(open_page: Open, traffic: Traffic) -> None:
    page = open_page(f"/runs/{traffic.large}")
    expect(page.locator("#side .side-title")).to_be_visible()
    expect(page.locator("#span-count")).to_contain_text(re.compile(rf"{LARGE // 1000}\s001 spans"))
    assert page.locator(ROW).count() < 80
    page.locator(".wf-scroll").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    expect(page.locator(ROW).last).to_have_attribute("aria-rowindex", str(LARGE + 1))
    page.locator(ROW).last.click()
    expect(page.locator("#side .side-title")).to_have_text("log")
    expect(page.locator(".rounds tbody tr[data-span]")).to_have_count(12)
    page.get_by_role("link", name=f"{LARGE // 4 - 12} more rounds").click()
    expect(page.locator(".rounds tbody tr[data-span]")).to_have_count(LARGE // 4)


def test_a_run_that_is_not_here_says_what_to_do(open_page: Open) -> None:
    page = open_page(f"/runs/{'0' * 32}-{'0' * 16}")
    expect(page.locator("h1")).to_have_text("No run has this id here")
    expect(page.get_by_role("link", name="Search for its trace")).to_be_visible()
