"""Take the pictures of docs/latency-model.md and docs/run-page.md anew: real runs of tests/data, as they are shown.

    python -m docs.pictures [NAME ...]      needs a Chromium; CHROMIUM names one that is not on the PATH

Writes docs/img/model-NAME.png: the run's bar with its figures, and its waterfall; the rest of the page is left away.
Those that are ``whole`` are docs/img/run-NAME.png: all of the page.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.captures import DATA, read_json
from tests.chromium import chromium_path
from tests.instance import Instance, running_instance
from tests.tools.judge import runs_of, send

IMAGES = Path(__file__).parent / "img"
WIDTH_PX, WHOLE_WIDTH_PX, SETTLED_WITHIN_S = 1080, 1280, 60
ONLY_BAR_AND_WATERFALL = """
    body > :not(main):not(:has(main)), main > :not(.sheet), .facts, .side, .wf-tools, .wf-legend .keys,
    .sheet:not(:has(.run-head)):not(.trace) { display: none !important }
    .trace { display: block !important }
    main { padding: 14px !important; margin: 0 !important }
"""


@dataclass(frozen=True)
class Picture:
    """The longest run of a capture; ``before`` are captures that are sent and read first."""

    name: str
    capture: str
    before: tuple[str, ...] = ()
    whole: bool = False


PICTURES = (
    Picture("streamed", "corpus/otel-genai-openai-parallel"),
    Picture("engine", "joined/otel-genai-noprop-queue"),
    Picture(
        "estimated",
        "corpus/pydantic-ai-nostream",
        before=(
            "corpus/pydantic-ai-parallel",
            "corpus/pydantic-ai-parallel-responses",
            "corpus/pydantic-ai-serial-runstream",
        ),
    ),
    Picture("subagent", "corpus/pydantic-ai-subagent"),
    Picture("vercel-retry", "corpus/vercel-ai-sdk-fail", whole=True),
    Picture("strands", "corpus/strands-serial", whole=True),
    Picture("langgraph", "corpus/openinference-langgraph-subagent", whole=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(picture.name for picture in PICTURES)}; else all")
    names = parser.parse_args().names or [picture.name for picture in PICTURES]
    chromium = chromium_path()
    if chromium is None:
        sys.stderr.write("no Chromium here: put one on the PATH, or name it in CHROMIUM\n")
        return 1
    with running_instance() as instance, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for picture in PICTURES:
            if picture.name in names:
                take(picture, instance, browser)
        browser.close()
    return 0


def take(picture: Picture, instance: Instance, browser: Browser) -> None:
    for capture in (*picture.before, picture.capture):
        shown = send_and_settle(DATA / capture, instance)
    longest = max(shown, key=lambda run: int(run["wall_ns"]))
    context = browser.new_context(
        viewport={"width": WHOLE_WIDTH_PX if picture.whole else WIDTH_PX, "height": 900},
        color_scheme="light",
        device_scale_factor=1 if picture.whole else 2,
        bypass_csp=True,
    )
    page = context.new_page()
    page.goto(f"{instance.web}/runs/{longest['run_id']}")
    page.locator(".wf-row").first.wait_for()
    if picture.whole:
        page.locator("#side .side-title").wait_for()
        page.screenshot(path=IMAGES / f"run-{picture.name}.png", full_page=True, animations="disabled")
    else:
        page.add_style_tag(content=ONLY_BAR_AND_WATERFALL)
        page.locator("main").screenshot(path=IMAGES / f"model-{picture.name}.png", animations="disabled")
    context.close()


def send_and_settle(folder: Path, instance: Instance) -> list[dict[str, Any]]:
    send(instance.web, folder)
    traces = list(dict.fromkeys(span["trace_id"] for span in read_json(folder / "spans.json")))
    return list(runs_of(instance.web, traces, SETTLED_WITHIN_S))


if __name__ == "__main__":
    sys.exit(main())
