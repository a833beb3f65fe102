"""All captures of real SDKs, sent as they were received, held against the true timelines of their agents."""

import json
import shutil
import time
from pathlib import Path

import httpx
import pytest

from tests.captures import Capture, captures
from tests.instance import Instance
from tests.tools.judge import judge, runs_of, send

CORPUS = captures("corpus")
ALL_SETTLED_WITHIN_S = 60
# Taken away from the page and sent again: with log records and without, several traces, sub-agents, failures.
TAKEN_AWAY = (
    "openlit-fail", "otel-genai-openai-subagent", "openinference-openai-parallel-noprop", "strands-fail",
    "vercel-ai-sdk-subagent",
)  # fmt: skip


@pytest.fixture(scope="module")
def faults(instance: Instance) -> dict[str, list[str]]:
    """What went wrong while sending: everything is sent before anything is read."""
    return {capture.name: send(instance.web, capture.folder) for capture in CORPUS}


@pytest.fixture(scope="module")
def settled_until_s(faults: dict[str, list[str]]) -> float:
    return time.monotonic() + ALL_SETTLED_WITHIN_S


@pytest.mark.parametrize("capture", CORPUS, ids=lambda capture: capture.name)
def test_it_reads_the_capture_right(
    instance: Instance, faults: dict[str, list[str]], settled_until_s: float, capture: Capture
) -> None:
    wait_s = max(0.0, settled_until_s - time.monotonic())

    checks = judge(instance.web, capture.folder, faults[capture.name], wait_s)

    assert {"accepted", "exact"} <= checks.keys()
    assert {name: wrong for name, wrong in checks.items() if wrong} == {}


def test_what_is_downloaded_from_the_run_page_is_read_as_what_was_sent(
    instance: Instance, faults: dict[str, list[str]], settled_until_s: float, tmp_path: Path
) -> None:
    chosen = [capture for capture in CORPUS if capture.name in TAKEN_AWAY]
    assert len(chosen) == len(TAKEN_AWAY)
    wait_s = max(0.0, settled_until_s - time.monotonic())
    before = {capture.name: runs_of(instance.web, traces_of(capture), wait_s) for capture in chosen}

    again = [taken_away(instance, capture, before[capture.name], tmp_path / capture.name) for capture in chosen]
    wrong_on_the_way = {capture.name: send(instance.web, capture.folder) for capture in again}

    for capture in again:
        checks = judge(instance.web, capture.folder, wrong_on_the_way[capture.name], ALL_SETTLED_WITHIN_S)
        assert {name: wrong for name, wrong in checks.items() if wrong} == {}, capture.name
        after = runs_of(instance.web, traces_of(capture), 0)
        assert figures(after) == figures(before[capture.name])
    assert list(tmp_path.glob("*/raw-logs.bin")), "none of them had log records"


def traces_of(capture: Capture) -> list[str]:
    return list(dict.fromkeys(span["trace_id"] for span in capture.spans))


def figures(runs: list[dict]) -> list[tuple]:
    told = ("wall_ns", "stages_ns", "outside_ns", "sources", "input_tokens", "rounds", "tool_failures")
    return sorted(
        (run["run_id"].partition("-")[2], [run[name] for name in told], len(run["calls"]), len(run["tools"]))
        for run in runs
    )


def taken_away(instance: Instance, capture: Capture, runs: list[dict], folder: Path) -> Capture:
    """The capture as the run page gives it: as if into another instance, under other trace ids."""
    folder.mkdir()
    renamed = {trace: trace[::-1] for trace in traces_of(capture)}
    taken: dict[str, list[object]] = {"resourceSpans": [], "resourceLogs": []}
    for run_id in {run["trace_id"]: run["run_id"] for run in runs}.values():
        for key, found in httpx.get(f"{instance.web}/runs/{run_id}/otlp.json").raise_for_status().json().items():
            taken[key] += found
    content = renaming(json.dumps(taken), renamed)
    for signal in ("traces", "logs") if taken["resourceLogs"] else ("traces",):  # the same file is both requests
        (folder / f"raw-{signal}.bin").write_text(content)
        meta = {"transport": "http", "path": f"/v1/{signal}", "content_type": "application/json"}
        (folder / f"raw-{signal}.meta.json").write_text(json.dumps(meta))
    for name in ("truth.json", "check.json"):
        shutil.copy(capture.folder / name, folder)
    (folder / "spans.json").write_text(renaming((capture.folder / "spans.json").read_text(), renamed))
    return Capture(folder)


def renaming(text: str, renamed: dict[str, str]) -> str:
    for old, new in renamed.items():
        text = text.replace(old, new)
    return text
