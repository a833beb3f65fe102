"""Figures as people read them."""

import pytest

from dashboard import figures
from dashboard.figures import THIN

MS, S, MINUTE = 10**6, 10**9, 60 * 10**9


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ms"),
        (1, "<0.1 ms"),
        (400_000, "0.4 ms"),
        (8_400_000, "8.4 ms"),
        (9_949_999, "9.9 ms"),
        (9_950_000, "10 ms"),
        (412 * MS, "412 ms"),
        (999_499_999, "999 ms"),
        (999_500_000, "1.00 s"),
        (4_120 * MS, "4.12 s"),
        (9_994 * MS, "9.99 s"),
        (9_995 * MS, "10.0 s"),
        (48_300 * MS, "48.3 s"),
        (99_949 * MS, "99.9 s"),
        (99_950 * MS, "1 min 40 s"),
        (192 * S, "3 min 12 s"),
        (3_599_600 * MS, "1 h 00 min"),
        (64 * MINUTE, "1 h 04 min"),
        (-3 * S, "−3.00 s"),
        (None, "–"),
    ],
)
def test_a_duration_has_three_significant_digits(ns: int | None, text: str) -> None:
    assert str(figures.duration(ns)).replace(THIN, " ") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0004, "<0.1 %"),
        (0.026, "2.6 %"),
        (0.0994, "9.9 %"),
        (0.0996, "10 %"),
        (0.29, "29 %"),
        (1, "100 %"),
        (None, "–"),
    ],
)
def test_a_percentage_has_one_decimal_below_ten(share: float | None, text: str) -> None:
    assert str(figures.percent(share)).replace(THIN, " ") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1 000"),
        (52_690, "52 690"),
        (99_999, "99 999"),
        (412_345, "412k"),
        (3_900_000, "3.9M"),
        (None, "–"),
    ],
)
def test_a_count_is_full_up_to_five_digits(number: int | None, text: str) -> None:
    assert str(figures.count(number)).replace(THIN, " ") == text


def test_exact_figures_of_parts_add_up_to_that_of_the_whole() -> None:
    parts = [333_333_333, 333_333_333, 333_333_334, 1]
    shown = [float(f.value) for f in figures.exact_together(parts, sum(parts))]
    assert round(sum(shown), 3) == float(figures.exact(sum(parts)).value) == 1.0


def test_a_run_shorter_than_a_second_is_exact_to_the_microsecond() -> None:
    assert [str(f).replace(THIN, " ") for f in figures.exact_together([412_345_678, 1_000], 412_346_678)] == [
        "412.346 ms",
        "0.001 ms",
    ]


@pytest.mark.parametrize("grain", [1, 7, 1_000, 10**6])
def test_rounding_together_keeps_the_sum_and_each_part_within_a_grain(grain: int) -> None:
    parts = [1, 999, 1_000, 123_456_789, 0, 5_500_000, 10**12 + 1]
    rounded = figures.round_together(parts, grain)
    assert sum(rounded) == (sum(parts) + grain // 2) // grain * grain
    assert all(abs(a - b) < grain for a, b in zip(parts, rounded, strict=True)) or grain == 1


def test_words_agree_with_their_number() -> None:
    assert [figures.plural(1, "run"), figures.plural(2, "retry"), figures.plural(0, "span")] == [
        "1 run",
        "2 retries",
        "0 spans",
    ]


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "–"), ("0", "0 EUR"), ("0.004185", "0.00419 EUR"), ("0.0000004", "<0.000001 EUR"),
        ("0.00000151", "0.000002 EUR"), ("1.005", "1.01 EUR"), ("12.345", "12.3 EUR"), ("1234.5", "1\u202f235 EUR"),
    ],
)  # fmt: skip
def test_money(amount: str | None, text: str) -> None:
    assert str(figures.cost(amount, "EUR")).replace(f"{THIN}EUR", " EUR") == text


def test_costs_add_up_to_their_whole() -> None:
    told = figures.costs_together(["0.0011116", None, "0.0022225", "0.000000001"], "0.003334101")
    assert [str(one) for one in told] == ["0.001112", "–", "0.002222", "<0.000001", "0.003334"]
    assert [str(one) for one in figures.costs_together([None], None)] == ["–", "–"]
