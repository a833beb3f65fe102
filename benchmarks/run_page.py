"""Row 8: the page of a run of 10,000 spans, and of 100,000: the server's time, the first row in Chromium, and frames
while its waterfall is dragged."""

import statistics
import time
from dataclasses import dataclass
from itertools import pairwise

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.loads import say
from benchmarks.report import Result, Row
from tests.chromium import NAMES, chromium_path
from tests.instance import Instance, running_instance
from tests.large_runs import long_run
from tests.polling import until

SPANS, MANY_SPANS = 10_000, 100_000
TRIES, TRIES_MANY = 7, 3
DRAG_S, STEP_PX = 3.0, 9

# When the first row of the run stands on the screen: the frame after it came into the document.
FIRST_ROW = """
new MutationObserver((_, watcher) => {
  if (!document.querySelector(".wf-row .blk")) return;
  watcher.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.firstRowMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
# Each frame's moment, and where the waterfall then stood: a frame that shows nothing new is none.
COUNT_FRAMES = """
() => {
  window.frames_ = []; window.counting = true;
  let stood = "";
  const frame = now => {
    const axis = document.querySelector(".wf-axis > :last-child span");
    const stands = axis.textContent + axis.style.left + document.querySelector(".wf-scroll").scrollTop;
    window.frames_.push([now, stands !== stood]);
    stood = stands;
    if (window.counting) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
"""
# A step, until the frame that shows it: what was asked for must then stand there.
STEP = """
(() => {
  const find = selector => document.querySelector(selector), rows = () => document.querySelectorAll(".wf-row");
  const seek = text => { find(".wf-find").value = text; find(".wf-find").dispatchEvent(new Event("input")); };
  const press = key => { scroll.focus(); scroll.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); };
  const scroll = find(".wf-scroll"), shown = find(".map-window").style, total = () => Number(scroll.ariaRowCount);
  const began = performance.now();
  ACT;
  return new Promise((done, failed) => requestAnimationFrame(() => setTimeout(() => {
    if (HOLDS) done(performance.now() - began);
    else failed(new Error(`not so: HOLDS`));
  })));
})()
"""
STEPS = {
    "scroll to the end": ("scroll.scrollTop = 1e9", "Number([...rows()].at(-1).ariaRowIndex) === total()"),
    "half way back": ("scroll.scrollTop /= 2", "Math.abs(rows()[0].ariaRowIndex * 2 / total() - 1) < .1"),
    "zoom in": ("find('[data-zoom=in]').click()", "shown.left !== '0%' || shown.right !== '0%'"),
    "zoom out": ("find('[data-zoom=fit]').click()", "shown.left === '0%' && shown.right === '0%'"),
    "search": ("seek('round 7')", "find('#span-count').textContent.includes(' of ')"),
    "show all": ("seek('')", "!find('#span-count').textContent.includes(' of ')"),
    "to the top": ("scroll.scrollTop = 0", "rows()[0].ariaRowIndex === '1'"),
    "key to the last row": ("press('End')", "[...rows()].at(-1).ariaSelected === 'true'"),
    "key to the first row": ("press('Home')", "rows()[0].ariaSelected === 'true'"),
    "fold": ("find('.wf-row .twist').click()", "rows().length === 1"),
    "unfold": ("find('.wf-row .twist').click()", "rows().length > 10"),
}


@dataclass(frozen=True)
class Shown:
    """Of one run's page, medians of several tries but for the frames."""

    server_ms: float
    first_row_ms: float
    frames_per_s: float
    moved_per_s: float
    slowest_ms: float
    steps_ms: dict[str, float]


def measure_run_page() -> Result:
    path = chromium_path()
    if path is None:
        return Result(
            rows=[], facts={"row 8": f"not measured: none of {', '.join(NAMES)} here"}, faults=[], read_back=False
        )
    with running_instance() as instance, sync_playwright() as playwright:
        runs = {spans: _stored(instance, spans) for spans in (SPANS, MANY_SPANS)}
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        shown = {
            spans: _measured(instance, browser, run_id, TRIES if spans == SPANS else TRIES_MANY)
            for spans, run_id in runs.items()
        }
        browser.close()
    few, many = shown[SPANS], shown[MANY_SPANS]
    return Result(
        rows=[
            Row(8, "run page of 10,000 spans: server", few.server_ms, 300, 300, "ms"),
            Row(8, "first real row in Chromium", few.first_row_ms, 1_000, 1_000, "ms"),
            Row(8, "frames while dragging the waterfall", few.moved_per_s, 30, 30, "a second", more=True),
        ],
        facts={
            "run page of 10,000 spans": _told(few),
            "run page of 100,000 spans": _told(many),
        },
        faults=[],
        read_back=False,
    )


def _told(shown: Shown) -> str:
    return (
        f"server {shown.server_ms:.0f} ms, first row {shown.first_row_ms:.0f} ms, "
        f"{shown.moved_per_s:.0f} frames a second that show something new of {shown.frames_per_s:.0f}, "
        f"the slowest of a hundred after {shown.slowest_ms:.0f} ms; until the next frame: "
        + ", ".join(f"{step} {ms:.0f} ms" for step, ms in shown.steps_ms.items())
    )


def _stored(instance: Instance, spans: int) -> str:
    say(f"sending a run of {spans:,} spans")
    run_id = long_run(spans).send(instance.otlp_http)

    def settled() -> bool:
        answer = instance.api.get(f"/runs/{run_id}")
        return answer.status_code == 200 and answer.json()["spans"] == spans and not answer.json()["provisional"]

    until(settled, 300, f"the run of {spans} spans is decomposed")
    return run_id


def _measured(instance: Instance, browser: Browser, run_id: str, tries: int) -> Shown:
    say(f"opening {run_id}")
    address = f"{instance.web}/runs/{run_id}"
    server_ms = statistics.median(_server_ms(address) for _ in range(tries))
    first = []
    for _ in range(tries):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(FIRST_ROW)
        page.goto(address)
        until(lambda page=page: page.evaluate("window.firstRowMs ?? null"), 120, "the first row is seen")  # type: ignore[misc]
        first.append(page.evaluate("window.firstRowMs"))
        if len(first) < tries:
            page.close()
    steps_ms = {step: _step_ms(page, *told) for step, told in STEPS.items()}
    frames, moved, slowest_ms = _dragged(page)
    page.close()
    return Shown(
        server_ms=server_ms,
        first_row_ms=statistics.median(first),
        frames_per_s=frames,
        moved_per_s=moved,
        slowest_ms=slowest_ms,
        steps_ms=steps_ms,
    )


def _step_ms(page: Page, act: str, holds: str) -> float:
    took_ms: float = page.evaluate(STEP.replace("ACT", act).replace("HOLDS", holds))
    return took_ms


def _server_ms(address: str) -> float:
    """From the request until the last byte of the page, which brings the rows of its waterfall."""
    with httpx.Client(timeout=120) as client:
        client.get(address.rpartition("/runs/")[0] + "/healthz")  # the connection is there already, as a reader's is
        began = time.perf_counter()
        page = client.get(address)
        took_ms = (time.perf_counter() - began) * 1e3
        assert 'id="waterfall-data"' in page.text
        return took_ms


def _dragged(page: Page) -> tuple[float, float, float]:
    """Frames a second, those of them that showed something new, and the longest wait but for one in a hundred."""
    page.locator(".wf-scroll").scroll_into_view_if_needed()
    box = page.locator(".wf-scroll").bounding_box()
    assert box
    x, y = box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.6
    for _ in range(4):  # so close that there is somewhere to drag it to
        page.keyboard.press("w")
    page.evaluate(COUNT_FRAMES)
    page.mouse.move(x, y)
    page.mouse.down()
    until_s, at, way = time.monotonic() + DRAG_S, 0, 1
    while time.monotonic() < until_s:
        at += way * STEP_PX
        way = -1 if at > 260 else 1 if at < -260 else way
        page.mouse.move(x - at, y - abs(at) / 2)
    page.mouse.up()
    page.evaluate("window.counting = false")
    frames: list[tuple[float, bool]] = page.evaluate("window.frames_")
    waits = sorted(b[0] - a[0] for a, b in pairwise(frames))
    took_s = (frames[-1][0] - frames[0][0]) / 1e3
    return len(waits) / took_s, sum(moved for _, moved in frames[1:]) / took_s, waits[int(len(waits) * 0.99) - 1]
