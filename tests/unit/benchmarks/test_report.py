"""A benchmark's result says plainly where it stands, and is kept so that both people and programs can read it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.report import Result, Row, as_markdown, save


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(50, "reaches the aim"), (50.1, "within the bar"), (90, "within the bar"), (90.1, "over the bar")],
)
def test_a_row_is_told_beside_its_bar_and_aim(value: float, verdict: str) -> None:
    told = as_markdown(Result(rows=[Row(1, "CPU-seconds", value, 90, 50, "s")], facts={}, faults=[]))

    assert f"| ≤ 90 s | ≤ 50 s | {verdict} |" in told
    assert "is right" in told


def test_wrong_runs_are_told_before_anybody_trusts_the_figures() -> None:
    told = as_markdown(Result(rows=[], facts={"cores": 2}, faults=["trace 1 has no run", "trace 2 has no run"]))

    assert "- cores: 2" in told
    assert "2 faults:\n\n- trace 1 has no run" in told
    assert "is right" not in told


def test_a_result_is_kept_under_its_minute(tmp_path: Path) -> None:
    result = Result(rows=[Row(5, "bytes", 300.0, 450, 250, "bytes")], facts={"cores": 2}, faults=[])

    path = save(result, tmp_path / "results", datetime(2026, 3, 1, 12, 30, tzinfo=UTC))

    assert path.name == "2026-03-01-1230.json"
    assert json.loads(path.read_text())["rows"][0]["value"] == 300.0
    assert path.with_suffix(".md").read_text().startswith("# 2026-03-01 12:30 UTC\n\n| # |")
