"""Row 4 in a browser: from the acknowledgement of a run's spans until its row is painted on the Live page."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
from playwright.sync_api import Page, sync_playwright

from benchmarks.loads import Loads, say, whole
from tests.chromium import chromium_path

SECONDS = 30
EVERY_MS = 450  # so that probes meet the page's pace of a second at any point of it
AHEAD_NS = 60 * 10**9  # by which a probe ends later than the load's runs, which would push its row off the list at once
WITHIN_S = 30.0
CHARTS_MS = 120_000
# When each row of the list was first there for a frame, in milliseconds since 1970.
WATCH = """() => {
    window.seen = {};
    const note = () => requestAnimationFrame(() => {
        for (const row of document.querySelectorAll("#finishing [data-run]")) seen[row.dataset.run] ??= Date.now();
    });
    new MutationObserver(note).observe(document.getElementById("live-body"), { childList: true, subtree: true });
}"""


@contextmanager
def live_page(chromium: str, web: str) -> Iterator[Page]:
    """The Live page with its charts drawn, as somebody has it open."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{web}/live?range=15m", timeout=CHARTS_MS)
        page.locator("#stage-plot .main-svg").first.wait_for(timeout=CHARTS_MS)
        yield page
        browser.close()


def measure_seen(loads: Loads, rate: int) -> list[float] | None:
    """Milliseconds for each probe, sorted, while the load comes at a rate; None where there is no Chromium."""
    chromium = chromium_path()
    if chromium is None:
        return None
    with live_page(chromium, loads.instance.web) as page:
        say(f"sending {rate:,} spans a second for {SECONDS} s, and looking at the Live page")
        command = loads.command("seen", rate * SECONDS, rate, "--live", f"--window={SECONDS}")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as load:
            seen_ms = look(page, loads.instance.otlp_http, lambda: load.poll() is None)
            told, _ = load.communicate()
        loads.note("seen", whole(rate * SECONDS), json.loads(told))
    return seen_ms


def look(page: Page, otlp: str, goes_on: Callable[[], bool]) -> list[float]:
    """Send probes as long as it goes on. What is not seen within 30 s counts as 30 s."""
    page.evaluate(WATCH)
    acknowledged_ms: dict[str, float] = {}
    with httpx.Client(base_url=otlp, timeout=60) as client:
        while goes_on():
            run_id = send_probe(client)
            acknowledged_ms[run_id] = time.time() * 1e3
            page.wait_for_timeout(EVERY_MS)
    until_s = time.monotonic() + WITHIN_S
    seen: dict[str, float] = page.evaluate("window.seen")
    while acknowledged_ms.keys() - seen.keys() and time.monotonic() < until_s:
        page.wait_for_timeout(EVERY_MS)
        seen = page.evaluate("window.seen")
    return sorted(
        max(0.0, seen[run_id] - at_ms) if run_id in seen else WITHIN_S * 1e3
        for run_id, at_ms in acknowledged_ms.items()
    )  # fmt: skip


def send_probe(client: httpx.Client) -> str:
    """A run of one call; its id once it is acknowledged."""
    trace, root = os.urandom(16).hex(), os.urandom(8).hex()
    end_ns = time.time_ns() + AHEAD_NS

    def span(span_id: str, operation: str, **fields: str) -> dict[str, object]:
        return {
            "traceId": trace, "spanId": span_id, "name": operation, "kind": 1,
            "startTimeUnixNano": str(end_ns - 10**9), "endTimeUnixNano": str(end_ns),
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": operation}}], **fields,
        }  # fmt: skip

    spans = [span(root, "invoke_agent"), span(os.urandom(8).hex(), "chat", parentSpanId=root)]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    client.post("/v1/traces", json=body).raise_for_status()
    return f"{trace}-{root}"
