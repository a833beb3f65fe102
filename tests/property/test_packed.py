"""What a run's row packs comes back as it was."""

from __future__ import annotations

from hypothesis import given
from msgspec.structs import replace

from ingest.packed import PhaseRow, pack_detail, pack_summary, unpack_detail, unpack_summary
from ingest.spans import Span
from ingest.stages import decompose
from ingest.stages.model import Run, Stage
from tests.property.drawn_traces import traces


@given(traces())
def test_a_run_is_packed_without_loss(spans: list[Span]) -> None:
    for run in decompose([with_stored_ids(span) for span in spans]).runs:
        assert_same_summary(run)
        assert_same_detail(run)


def with_stored_ids(span: Span) -> Span:
    """Drawn ids are short names; stored ones are the hex of eight bytes."""
    return replace(
        span, span_id=hex_of(span.span_id), parent_span_id=span.parent_span_id and hex_of(span.parent_span_id)
    )


def hex_of(name: str) -> str:
    return name.encode().rjust(8, b"-")[-8:].hex()


def assert_same_summary(run: Run) -> None:
    broken = run.breakdown
    row = {f"{stage}_ns": broken.stages_ns[stage] for stage in Stage} | {"summary": pack_summary(broken)}
    assert unpack_summary(row) == {
        "busy_ns": dict(broken.busy_ns),
        "sources": dict(broken.sources),
        "sources_ns": {stage: dict(parts) for stage, parts in broken.sources_ns.items()},
    }


def assert_same_detail(run: Run) -> None:
    in_order = [
        [item.span_id for item in sorted(items, key=lambda one: (one.start_unix_ns, one.span_id))]
        for items in (run.calls, run.tools)
    ]
    told = unpack_detail(pack_detail(run), [*in_order[0], *in_order[1]])
    start = run.start_unix_ns
    assert told.phases == [
        PhaseRow(p.start_unix_ns - start, p.end_unix_ns - start, p.owner, p.source, p.span_id) for p in run.phases
    ]
    assert [
        (c.parent_span_id, c.transport_ns, c.provider, c.finish_reason) for c in map(told.calls.get, ids_of(run)) if c
    ] == [(c.parent_span_id, c.transport_ns, c.provider, c.finish_reason) for c in run.calls]
    assert told.transports_ns == {t.span_id: t.transport_ns for t in run.tools if t.transport_ns is not None}
    assert told.warnings == [(w.code, w.text, w.span_id) for w in run.warnings]


def ids_of(run: Run) -> list[str]:
    return [call.span_id for call in run.calls]
