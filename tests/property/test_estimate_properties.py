"""What holds for every trace whatever it is estimated by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.spans import Span
from ingest.stages import Basis, BasisKey, Source, decompose
from tests.property.test_decompose_properties import ANY_TRACE, MODEST, assert_exact

TIMES = st.integers(1, 10**9)
BASES = st.builds(
    lambda quartiles, calls: Basis(low_ns=quartiles[0], tpot_ns=quartiles[1], high_ns=quartiles[2], calls=calls),
    st.lists(TIMES, min_size=3, max_size=3).map(sorted),
    st.integers(0, 100),
) | st.builds(Basis, tpot_ns=st.just(10**6), low_ns=st.just(10**6), high_ns=st.just(10**6), calls=st.just(9))


@MODEST
@given(ANY_TRACE, BASES)
def test_an_estimate_leaves_runs_exact_and_touches_only_what_nobody_splits(trace: list[Span], basis: Basis) -> None:
    before = decompose(trace)
    after = decompose(trace, bases={BasisKey(service, "m-1", None): basis for service in ("a", "b")})

    assert_exact(after)
    assert [run.run_id for run in after.runs] == [run.run_id for run in before.runs]
    for old, new in zip(before.runs, after.runs, strict=True):
        assert (old.breakdown.wall_ns, old.tools, old.warnings) == (new.breakdown.wall_ns, new.tools, new.warnings)
        for was, now in zip(old.calls, new.calls, strict=True):
            if now.source is Source.ESTIMATED:
                assert was.source is Source.UNKNOWN
                assert (was.start_unix_ns, was.wall_ns) == (now.start_unix_ns, now.wall_ns)
                assert now.prefill_ns is not None
                assert now.prefill_ns > 0
                assert replace(now, source=was.source, ttft_ns=None, first_token_unix_ns=None, prefill_ns=None,
                               decode_ns=None) == was  # fmt: skip
            else:
                assert now == was
