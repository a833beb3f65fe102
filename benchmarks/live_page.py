"""The Live page in a real browser: how busy its main thread is and whether its memory grows under a steady load,
whether its figures are the API's, and how long after the acknowledgement a run is seen.

    python -m benchmarks.live_page URL OTLP_URL [--rate 1000] [--seconds 600]      needs a Chromium
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import CDPSession, Page

from benchmarks.loads import SPANS_A_TRACE
from benchmarks.seen import live_page, look
from tests.chromium import chromium_path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES, TENTHS = 20, 10
PARTS = {
    "busy": "TaskDuration", "CPU": "ThreadTime", "script": "ScriptDuration", "layout": "LayoutDuration",
    "style": "RecalcStyleDuration",
}  # fmt: skip
HEAP_GROWTH_MOST = 1.1
CAUGHT_UP_S = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("web")
    parser.add_argument("otlp")
    parser.add_argument("--rate", type=int, default=1_000, help="spans a second")
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    chromium = chromium_path()
    if chromium is None:
        parser.error("no Chromium on the PATH; CHROMIUM names one")
    with live_page(chromium, options.web) as page:
        probes = iter(range(SAMPLES))
        seen_ms = look(page, options.otlp, lambda: next(probes, None) is not None)
        print(f"acknowledged to seen, calm: p50 {statistics.median(seen_ms):.0f} ms, most {seen_ms[-1]:.0f} ms")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        load = _load(options)
        try:
            flat = report(session, page, options)
            load.wait()
            alike = figures_alike(page, options)
        finally:
            load.terminate()
    return 0 if flat and alike else 1


def report(session: CDPSession, page: Page, options: argparse.Namespace) -> bool:
    """A line a tenth of the time: how much of it the main thread was busy, as the clock and as its own CPU tell (they
    part where others want the machine's cores), for what, and its heap after a collection. True where the heap does
    not grow."""
    before, heaps_mb = _metrics(session), []
    for _ in range(TENTHS):
        page.wait_for_timeout(options.seconds * 1000 / TENTHS)
        now = _metrics(session)
        took_s = now["Timestamp"] - before["Timestamp"]
        told = {name: (now[key] - before[key]) / took_s for name, key in PARTS.items()}
        session.send("HeapProfiler.collectGarbage")
        now = _metrics(session)
        heaps_mb.append(now["JSHeapUsedSize"] / 1e6)
        shares = ", ".join(f"{name} {share:.1%}" for name, share in told.items())
        print(f"{shares}; heap {heaps_mb[-1]:.1f} MB, {now['Nodes']:.0f} nodes", flush=True)
        before = now
    growth = statistics.mean(heaps_mb[-3:]) / statistics.mean(heaps_mb[1:4])
    print(f"heap of the last three tenths against the second to fourth: {growth:.2f} (bar: {HEAP_GROWTH_MOST})")
    return bool(growth <= HEAP_GROWTH_MOST)


def figures_alike(page: Page, options: argparse.Namespace) -> bool:
    """Runs, mean wall and mean of each stage of every full step of the page's chart, against the API's, once the page
    has caught up with the end of the load."""
    until_s, sent = time.monotonic() + CAUGHT_UP_S, options.rate * options.seconds // SPANS_A_TRACE
    while True:
        shown = json.loads(page.locator("#stage-data").text_content() or "{}")
        told = _told(options, shown)
        apart = [i for i, step in enumerate(told) if step != _step(shown, i)]
        runs = sum(step["runs"] for step in told)
        if (runs >= sent and not apart) or time.monotonic() > until_s:
            break
        page.wait_for_timeout(2_000)
    print(f"figures of {len(told)} steps with {runs:,} runs of {sent:,} sent: {len(apart)} differ from the API's")
    return not apart and runs >= sent


def _step(shown: dict[str, Any], i: int) -> dict[str, Any]:
    stages = {stage["stage"]: stage["mean_ns"][i] for stage in shown["stages"]}
    return {"runs": shown["runs"][i], "mean_wall_ns": shown["mean_wall_ns"][i], "mean_ns": stages}


def _told(options: argparse.Namespace, shown: dict[str, Any]) -> list[dict[str, Any]]:
    starts = shown["start_unix_ns"]
    asked = {"from": starts[0], "to": starts[-1], "step": shown["step_s"], "zone": "UTC", "of": "runs"}
    answer = httpx.get(f"{options.web}/api/v1/summary", params=asked, timeout=60).raise_for_status().json()
    told = []
    for step in answer["steps"]:
        runs, totals = step["total"]["runs"], step["total"]["runs"]["totals_ns"]
        means = {owner: ns // runs["count"] if runs["count"] else None for owner, ns in totals.items()}
        told.append({"runs": runs["count"], "mean_wall_ns": runs["wall"]["mean_ns"], "mean_ns": means})
    return told


def _metrics(session: CDPSession) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def _load(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tests/tools/otlp_load.py"), f"{options.otlp}/v1/traces",
         "--rate", str(options.rate), "--spans", str(options.rate * options.seconds),
         "--live", "--window", str(options.seconds), "--duration", str(options.seconds)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
