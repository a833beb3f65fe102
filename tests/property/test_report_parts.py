"""Whatever two weeks hold, the parts of the change add up to it, to the nanosecond."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.reports.core.parts import Amount, Cause, Unit, split_change

OWNERS = ("prefill", "decode", "tool_execution")
units = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([(), ("m",), ("m", "n")]))
amounts = st.builds(
    lambda runs, times: Amount(runs=runs, totals_ns=dict(zip(OWNERS, times, strict=True))),
    st.integers(0, 10**6), st.tuples(*[st.integers(0, 10**18)] * 3),
)  # fmt: skip
weeks = st.dictionaries(units, amounts, max_size=6)


@settings(deadline=None, max_examples=60)
@given(before=weeks, after=weeks)
def test_the_parts_add_up_by_owner_by_cause_and_as_a_whole(
    before: dict[Unit, Amount], after: dict[Unit, Amount]
) -> None:
    split = split_change(before, after, OWNERS)
    runs = [sum(amount.runs for amount in week.values()) for week in (before, after)]
    if not all(runs):
        assert split is None
        return

    assert split is not None
    total = sum(sum(a.totals_ns.values()) for a in after.values() if a.runs)
    assert abs(split.after_ns - total / runs[1]) <= 1 + total / runs[1] * 1e-12
    assert split.ns() == split.moved_ns == sum(split.by_cause_ns.values())
    for owner in OWNERS:
        assert split.ns(owner=owner) == split.after_by_owner_ns[owner] - split.before_by_owner_ns[owner]


@settings(deadline=None, max_examples=30)
@given(week=weeks)
def test_equal_weeks_have_no_parts(week: dict[Unit, Amount]) -> None:
    split = split_change(week, week, OWNERS)
    assert split is None or (split.moved_ns, split.parts) == (0, [])


def test_more_runs_of_what_is_slow_are_mix_and_slower_runs_are_within() -> None:
    def amount(runs: int, each: int) -> Amount:
        return Amount(runs=runs, totals_ns=dict.fromkeys(OWNERS, 0) | {"decode": runs * each})

    mixed = split_change({("a", ()): amount(90, 10), ("b", ()): amount(10, 110)},
                         {("a", ()): amount(50, 10), ("b", ()): amount(50, 110)}, OWNERS)  # fmt: skip
    slower = split_change({("a", ()): amount(90, 10)}, {("a", ()): amount(90, 30)}, OWNERS)
    swapped = split_change({("a", ("m",)): amount(90, 10)}, {("a", ("n",)): amount(90, 30)}, OWNERS)

    assert mixed is not None
    assert slower is not None
    assert swapped is not None
    assert (mixed.moved_ns, mixed.ns(cause=Cause.SERVICES)) == (40, 40)
    assert (slower.moved_ns, slower.ns(cause=Cause.WITHIN, owner="decode")) == (20, 20)
    assert (swapped.moved_ns, swapped.ns(cause=Cause.MODELS)) == (20, 20)
