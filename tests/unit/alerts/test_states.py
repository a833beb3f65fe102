"""What verdicts do to an alert; drawn as a letter a minute: f(ine), B(reached), . (no data), w (too few), e(rror)."""

from __future__ import annotations

import pytest

from dashboard.alerts.core.rule import Rule, Silent
from dashboard.alerts.core.standing import Fired, Resolved, Standing, move, timing_of
from dashboard.alerts.core.verdict import Outcome, Verdict
from dashboard.alerts.core.written import read_rule

MINUTE_NS = 60 * 10**9
LETTERS = {"f": Outcome.FINE, "B": Outcome.BREACHED, ".": Outcome.NO_DATA, "w": Outcome.FEW, "e": Outcome.ERROR,
           "h": Outcome.HELD}  # fmt: skip


def rule(**told: str) -> Rule:
    return read_rule({"name": "r", "of": "runs.wall", "above": "5s"} | {k.rstrip("_"): v for k, v in told.items()}, {})


def drawn(verdicts: str, of: Rule) -> str:
    """What happened at each minute: F(ired), R(esolved) or nothing; and the state at the end."""
    standing, happened = Standing(), ""
    for at, letter in enumerate(verdicts, 1):
        standing, moved = move(standing, Verdict(outcome=LETTERS[letter]), at * MINUTE_NS, timing_of(of))
        happened += "F" if isinstance(moved, Fired) else "R" if isinstance(moved, Resolved) else "-"
    return f"{happened.rstrip('-')} {standing.state.value}".strip()


@pytest.mark.parametrize(
    ("verdicts", "told", "happens"),
    [
        ("ffBff", {}, "--FR ok"),
        ("ffBBff", {"for_": "2m"}, "ok"),
        ("fBBBf", {"for_": "2m"}, "---FR ok"),
        ("fBfBfBf", {"keep_firing": "3m"}, "-F firing"),
        ("fBffff", {"keep_firing": "3m"}, "-F--R ok"),
        ("fB" + "." * 9 + "f", {}, "-F---------R ok"),
        ("fB" + "." * 12, {}, "-F----------R no_data"),
        ("fB" + "w" * 30 + "f", {}, "-F" + "-" * 30 + "R ok"),
        ("fB" + "e" * 30, {}, "-F firing"),
        ("f" + "e" * 12, {}, "error"),
        ("f" + "." * 12, {"no_data": "alert"}, "-" * 11 + "F firing"),
        ("fBhhBf", {"for_": "3m"}, "----FR ok"),
    ],
)
def test_it_neither_flaps_nor_falls_silent(verdicts: str, told: dict[str, str], happens: str) -> None:
    assert drawn(verdicts, rule(**told)) == happens


def test_an_instant_that_was_seen_does_nothing() -> None:
    timing = timing_of(rule())
    fired, _ = move(Standing(), Verdict(outcome=Outcome.BREACHED), 9 * MINUTE_NS, timing)
    for minute in (9, 3):
        assert move(fired, Verdict(outcome=Outcome.FINE), minute * MINUTE_NS, timing) == (fired, None)


def test_after_a_gap_it_must_be_waited_for_again() -> None:
    timing = timing_of(rule(for_="10m"))
    pending, _ = move(Standing(), Verdict(outcome=Outcome.BREACHED), MINUTE_NS, timing)
    after, moved = move(pending, Verdict(outcome=Outcome.BREACHED), 60 * MINUTE_NS, timing)
    assert (after.state, moved) == ("pending", None)
    assert rule().no_data is Silent.QUIET
