"""Single values: what is read, and that nothing raises."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ingest.semconv import values


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5, 5), (5.0, 5), ("5", 5), ('"5"', 5), (0, 0), (-1, None), (True, None), ("", None), (5.5, None), ("5.5", None),
     (math.nan, None), (math.inf, None), (10**30, None), ("9" * 40, None), (None, None), ([5], None)],
)  # fmt: skip
def test_whole(value: Any, expected: int | None) -> None:
    assert values.whole(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.25, 250_000_000), (1, 1_000_000_000), ("0.5", 500_000_000), (-1.0, None), (math.nan, None), (math.inf, None),
     (1e300, None), ("soon", None), (True, None), (None, None), ({}, None)],
)  # fmt: skip
def test_seconds(value: Any, expected: int | None) -> None:
    assert values.seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("words", "words"), ('"quoted"', "quoted"), ("None", None), ("null", None), ("", None), (7, "7"), (True, None),
     (None, None), (["a"], None)],
)  # fmt: skip
def test_text(value: Any, expected: str | None) -> None:
    assert values.text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("2026-05-28T20:26:40Z", 1_780_000_000_000_000_000), ('"2026-05-28T22:26:40.5+02:00"', 1_780_000_000_500_000_000),
     ("2026-05-28T20:26:40", 1_780_000_000_000_000_000), ("later", None), ("2026-99-99T00:00:00Z", None), (5, None)],
)  # fmt: skip
def test_instant(value: Any, expected: int | None) -> None:
    assert values.instant(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), ("True", True), ("false", False), ("x", None), (1, None)]
)
def test_flag(value: Any, expected: bool | None) -> None:
    assert values.flag(value) is expected


@pytest.mark.parametrize("value", ["{", "[" * 100_000, "words", '{"a": ' + "1" * 2_000_000 + "}"])
def test_broken_and_enormous_documents_are_nothing(value: str) -> None:
    assert values.document(value) is None
