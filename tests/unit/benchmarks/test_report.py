"""A benchmark's result says plainly where it stands, and is kept so that both people and programs can read it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.report import Floor, Result, Row, as_markdown, joined, save


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(50, "reaches the aim"), (50.1, "within the bar"), (90, "within the bar"), (90.1, "over the bar")],
)
def test_a_row_is_told_beside_its_bar_and_aim(value: float, verdict: str) -> None:
    told = as_markdown(Result(rows=[Row(1, "CPU-seconds", value, 90, 50, "s")], facts={}, faults=[]))

    assert f"| ≤ 90 s | ≤ 50 s | – | {verdict} |" in told
    assert "is right" in told


def test_wrong_runs_are_told_before_anybody_trusts_the_figures() -> None:
    told = as_markdown(Result(rows=[], facts={"cores": 2}, faults=["trace 1 has no run", "trace 2 has no run"]))

    assert "- cores: 2" in told
    assert "2 faults:\n\n- trace 1 has no run" in told
    assert "is right" not in told


def test_a_result_is_kept_under_its_day_and_cores(tmp_path: Path) -> None:
    result = Result(rows=[Row(5, "bytes", 300.0, 450, 250, "bytes")], facts={"cores": 2}, faults=[])

    path = save(result, tmp_path / "results", datetime(2026, 3, 1, 12, 30, tzinfo=UTC), cores=2)

    assert path.name == "2026-03-01-2.json"
    assert json.loads(path.read_text())["rows"][0]["value"] == 300.0
    assert path.with_suffix(".md").read_text().startswith("# 2026-03-01 12:30 UTC, 2 cores\n\n| # |")


@pytest.mark.parametrize(
    ("value", "verdict"), [(60_000, "reaches the aim"), (25_000, "within the bar"), (24_999, "under the bar")]
)
def test_of_some_rows_more_is_better(value: float, verdict: str) -> None:
    row = Row(6, "decompose", value, 25_000, 60_000, "spans/s", more=True)

    assert f"| ≥ 25,000 spans/s | ≥ 60,000 spans/s | – | {verdict} |" in row.as_line()


def test_parts_are_told_as_one_result_in_the_order_of_the_rows() -> None:
    kernel = Result(
        rows=[Row(6, "growth", 1.21, 1.5, 1, "times", digits=2)], facts={"cores": 2}, faults=[], read_back=False
    )
    ingest = Result(rows=[Row(1, "CPU-seconds", 80, 90, 50, "s")], facts={"cores": 4}, faults=["one is wrong"])

    both = joined([kernel, ingest])

    assert [row.number for row in both.rows] == [1, 6]
    assert both.facts == {"cores": 2, "cores (1)": 4}
    assert both.faults == ["one is wrong"]
    assert "1.21 times" in as_markdown(kernel)
    assert "is right" not in as_markdown(kernel)


def test_a_floor_is_told_with_the_ratio_to_it() -> None:
    row = Row(1, "CPU-seconds", 81.0, 90, 50, "s", floor=Floor(27.0, "bare prototype"))

    assert "| 27 s (bare prototype); 3.00 times that |" in row.as_line()
