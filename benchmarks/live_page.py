"""The Live page in a real browser: how busy its main thread is and whether its memory grows under a steady load,
whether its figures are the API's, and how long after the acknowledgement a run is seen.

    python -m benchmarks.live_page URL OTLP_URL [--rate 1000] [--seconds 600]      needs a Chromium
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import CDPSession, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SAMPLES = 20
FIGURE = "#live-figures .kpi:first-child .kpi-sides"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("web")
    parser.add_argument("otlp")
    parser.add_argument("--rate", type=int, default=1_000, help="spans a second")
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    path = os.environ.get("CHROMIUM") or next((found for name in CHROMIUMS if (found := shutil.which(name))), None)
    if path is None:
        parser.error("no Chromium on the PATH; CHROMIUM names one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{options.web}/live?range=15m")
        page.locator("#stage-plot .main-svg").first.wait_for(timeout=120_000)
        seen_ms = sorted(seen_after_ms(page, options) for _ in range(SAMPLES))
        print(f"acknowledged to seen, calm: p50 {statistics.median(seen_ms):.0f} ms, most {seen_ms[-1]:.0f} ms")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        load = _load(options)
        try:
            report(session, page, options)
        finally:
            load.terminate()
            load.wait()
        browser.close()
    return 0


def seen_after_ms(page: Page, options: argparse.Namespace) -> float:
    """From the answer to a run's spans until its row stands in the page."""
    trace, span = os.urandom(16).hex(), os.urandom(8).hex()
    end_ns = time.time_ns()
    told = {
        "traceId": trace, "spanId": span, "name": "invoke_agent probe", "kind": 1,
        "startTimeUnixNano": str(end_ns - 10**9), "endTimeUnixNano": str(end_ns),
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}],
    }  # fmt: skip
    called = told | {
        "spanId": os.urandom(8).hex(), "parentSpanId": span, "name": "chat",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    }  # fmt: skip
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [told, called]}]}]}
    httpx.post(f"{options.otlp}/v1/traces", json=body).raise_for_status()
    acknowledged = time.monotonic()
    page.locator(f'#finishing [data-run="{trace}-{span}"]').wait_for(timeout=30_000)
    seen = time.monotonic()
    page.wait_for_timeout(400)  # so that samples meet the page's pace at any point of it
    return (seen - acknowledged) * 1000


def report(session: CDPSession, page: Page, options: argparse.Namespace) -> None:
    """A line a tenth of the time: share of it that the main thread was busy, and its heap after a collection."""
    before = _metrics(session)
    for _ in range(10):
        page.wait_for_timeout(options.seconds * 100)
        session.send("HeapProfiler.collectGarbage")
        now = _metrics(session)
        busy = (now["TaskDuration"] - before["TaskDuration"]) / (now["Timestamp"] - before["Timestamp"])
        print(f"busy {busy:.1%}, heap {now['JSHeapUsedSize'] / 1e6:.1f} MB, {now['Nodes']:.0f} nodes", flush=True)
        before = now
    print(f"the page says {page.locator(FIGURE).inner_text()!r}, the API {_api(options)} runs in the last 5 minutes")


def _api(options: argparse.Namespace) -> int:
    now_ns = time.time_ns()
    asked = {"from": now_ns - 300 * 10**9, "to": now_ns, "of": "runs"}
    return int(httpx.get(f"{options.web}/api/v1/summary", params=asked).raise_for_status().json()["runs"])


def _metrics(session: CDPSession) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def _load(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests/tools/otlp_load.py"), f"{options.otlp}/v1/traces",
         "--rate", str(options.rate), "--spans", str(options.rate * options.seconds),
         "--duration", str(options.seconds)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
