"""Rollups of the same runs are the same, however they came; and their quantiles are within 1 % of the exact ones."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.rollups.bins import ACCURACY, bin_of, count_bins, quantile
from ingest.rollups.counting import METRICS, RUN_TOLD, Cell, Gathered, Kind, Place, Tally
from ingest.rollups.errors import error_kind
from ingest.rollups.packing import count_deltas, pack_cell, pack_cells, pack_gathered, unpack_cell
from ingest.rows import Rows
from ingest.spans import Span
from ingest.stages import decompose
from ingest.stages.model import Run
from tests.property.drawn_traces import traces
from tests.property.test_packed import with_stored_ids

DAY = dt.date(2026, 5, 28)
Delta = tuple[int, bytes]
MODEST = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def delta(runs: Sequence[Run], former: Sequence[Run] = ()) -> list[Delta]:
    """What a pass writes that replaces the rows of the former runs."""
    gathered = Gathered()
    old = rows_of(former)
    taken = Gathered()
    taken.add_rows(old)
    for (project_id, _, *place), items in taken.groups.items():
        gathered.groups[project_id, -1, *place] += items
    gathered.add_rows(rows_of(runs))
    return [(one.project_id, one.body) for one in pack_gathered(gathered)]


def rows_of(runs: Sequence[Run]) -> Rows:
    rows = Rows()
    for run in runs:
        rows.add(run, 1, DAY, 0, 1)
    return rows


def summed(deltas: Sequence[Delta]) -> dict[Place, Cell]:
    tally = count_deltas(deltas)
    tally.tidy()
    return tally.cells


@MODEST
@given(st.lists(traces(), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_any_split_order_duplicate_and_recomputation_make_the_same_rollups(
    drawn: list[list[Span]], chance: random.Random
) -> None:
    deltas: list[Delta] = []
    final: list[Run] = []
    for number, spans in enumerate(drawn):
        whole = [replace(with_stored_ids(span), trace_id=f"{number:032x}") for span in spans]
        former: Sequence[Run] = ()
        cuts = sorted(chance.randint(1, len(whole)) for _ in range(chance.randint(0, 3)))
        for size in [*cuts, *[len(whole)] * chance.randint(1, 3)]:  # it grows, then comes again
            now = decompose(whole[:size]).runs
            deltas += delta(now, former)
            former = now
        final += former
    chance.shuffle(deltas)
    assert summed(deltas) == summed(delta(final))
    folded = Tally()
    for one in deltas:  # in other portions
        folded.merge(count_deltas([one]).cells.items())
    folded.tidy()
    again = [(one.project_id, one.body) for one in pack_cells(folded)]
    assert summed(again) == summed(delta(final))


@MODEST
@given(traces())
def test_what_is_added_and_taken_back_leaves_nothing(spans: list[Span]) -> None:
    runs = decompose([with_stored_ids(span) for span in spans]).runs
    assert summed([*delta(runs), *delta((), runs)]) == {}


@MODEST
@given(traces())
def test_cells_add_up_to_what_the_runs_say(spans: list[Span]) -> None:
    runs = decompose([with_stored_ids(span) for span in spans]).runs
    cells = summed(delta(runs))
    walls = sum(cell.sums[0] for place, cell in cells.items() if place.kind == Kind.RUN)
    owners = sum(sum(cell.sums[1:11]) for place, cell in cells.items() if place.kind == Kind.RUN)
    assert walls == owners == sum(run.breakdown.wall_ns for run in runs)
    calls = sum(cell.count for place, cell in cells.items() if place.kind == Kind.CALL)
    assert calls == sum(len(run.calls) for run in runs)


HOSTILE = {
    "constant": [7_000_000_123] * 5_000,
    "bimodal": [1_000] * 500 + [60 * 10**9] * 500,
    "nine decades": [int(10 ** (number / 1_000)) for number in range(9_000)],
    "one sample": [123_456_789],
    "zeros and one": [0] * 99 + [10**12],
    "as long as can be": [2**63 - 1, 2**63 - 2, 1],
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("parts", [1, 2, 7, 100])
def test_merged_quantiles_are_within_one_per_cent(name: str, parts: int) -> None:
    values = list(HOSTILE[name])
    random.Random(1).shuffle(values)
    merged = Cell.of(Kind.TOOL)
    for part in range(parts):
        cell = Cell.of(Kind.TOOL)
        cell.bins[0].update(count_bins(values[part::parts]))
        merged.add(unpack_cell(pack_cell(cell)))
    for q in (0.0, 0.5, 0.9, 0.95, 0.99, 1.0):
        exact = sorted(values)[int(q * (len(values) - 1))]
        told = quantile(merged.bins[0], q)
        assert told is not None
        assert abs(told - exact) <= ACCURACY * exact * 1.0001 + 1


@given(st.lists(st.integers(-5, 2**63 - 1), max_size=200))
def test_many_are_binned_as_one_is(values: list[int]) -> None:
    one_by_one: dict[int, int] = {}
    for value in values:
        one_by_one[bin_of(value)] = one_by_one.get(bin_of(value), 0) + 1
    assert dict(count_bins(values)) == one_by_one


def test_sums_beyond_sixty_four_bits_are_kept() -> None:
    cell = Cell.of(Kind.RUN)
    cell.sums[0], cell.sums[1] = 2**80, -(2**70)
    assert unpack_cell(pack_cell(cell)) == cell


def test_what_is_told_of_runs_fits_their_metrics() -> None:
    assert len(RUN_TOLD) - RUN_TOLD.index("wall_ns") - 1 == len(METRICS[Kind.RUN]) - 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("asyncio.exceptions.CancelledError", "cancelled"),
        ("httpx.ReadTimeout", "timeout"),
        ("timed out", "timeout"),
        ("DeadlineExceeded", "timeout"),
        ("openai.RateLimitError", "rate_limit"),
        ("429", "rate_limit"),
        ("Error code: 400 - maximum context length is 8192 tokens", "context_length"),
        ("ConnectionResetError", "connection"),
        ("503", "overloaded"),
        ("500", "server"),
        ("ValidationError", "bad_request"),
        ("KeyError: 'x'", "other"),
        ("", "other"),
    ],
)
def test_errors_are_of_a_closed_set_of_kinds(text: str, kind: str) -> None:
    assert error_kind(text) == kind
