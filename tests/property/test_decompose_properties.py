"""What holds for every trace, however odd."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.semconv import read_facts
from ingest.spans import Event, Span
from ingest.stages import Decomposition, Source, Stage, decompose
from ingest.stages.claims import RANK, Claim
from ingest.stages.drafts import Scope
from ingest.stages.model import Owner
from ingest.stages.sweep import sweep
from tests.property.drawn_traces import NOON, TRACE, engine_spans, spans, traces, with_absurd_times

ANY_TRACE = st.one_of(traces(), traces(hostile=True))
MODEST = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
ABSURD = (0, 1, 10**9, 10**18, NOON, 2**63 - 1, 2**63, 2**64 - 1)


def assert_exact(result: Decomposition) -> None:
    for run in result.runs:
        breakdown = run.breakdown
        parts = [*breakdown.stages_ns.values(), *breakdown.outside_ns.values()]
        assert all(type(part) is int and part >= 0 for part in parts)
        assert sum(parts) == breakdown.wall_ns < 2**63
        at = run.start_unix_ns
        for phase in run.phases:
            assert phase.start_unix_ns == at < phase.end_unix_ns
            at = phase.end_unix_ns
        assert at == run.end_unix_ns
        for stage in Stage:
            assert sum(breakdown.sources_ns[stage].values()) == breakdown.stages_ns[stage]
            assert breakdown.busy_ns[stage] >= 0
        for call in run.calls:
            assert call.wall_ns >= 0
            assert call.ttft_ns is None or 0 <= call.ttft_ns <= call.wall_ns
        assert all(tool.wall_ns >= 0 for tool in run.tools)
        assert [value for value in (run.ttft_ns, run.first_token_ns) if value is not None and value < 0] == []


@MODEST
@given(ANY_TRACE)
def test_every_run_is_exact_and_its_phases_tile_it(trace: list[Span]) -> None:
    assert_exact(decompose(trace))


@MODEST
@given(ANY_TRACE, st.lists(st.sampled_from(ABSURD), max_size=12))
def test_absurd_times_do_no_harm(trace: list[Span], times: list[int]) -> None:
    assert_exact(decompose(with_absurd_times(trace, times)))


@MODEST
@given(ANY_TRACE, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(trace: list[Span], random: Any) -> None:
    shuffled = list(trace)
    random.shuffle(shuffled)
    assert decompose(shuffled) == decompose(trace)


@MODEST
@given(ANY_TRACE, engine_spans(), st.randoms(use_true_random=False))
def test_engines_spans_from_elsewhere_join_in_any_order_and_once(
    trace: list[Span], engines: list[Span], random: Any
) -> None:
    joined = decompose(trace, engines)
    assert_exact(joined)
    shuffled = [*engines, *engines]
    random.shuffle(shuffled)
    assert decompose(trace, shuffled) == joined
    assert (joined.spans, len(joined.runs)) == (len({span.span_id for span in trace}), len(decompose(trace).runs))


@MODEST
@given(ANY_TRACE, engine_spans())
def test_an_engine_never_contradicts_its_client(trace: list[Span], engines: list[Span]) -> None:
    alone = {(run.run_id, call.span_id): call for run in decompose(trace).runs for call in run.calls}
    for run in decompose(trace, engines).runs:
        for call in run.calls:
            before = alone[run.run_id, call.span_id]
            assert call.response_id == before.response_id
            assert before.model in (None, call.model)
            assert before.finish_reason in (None, call.finish_reason)
            assert not before.input_tokens or call.input_tokens == before.input_tokens
            assert not before.output_tokens or call.output_tokens == before.output_tokens


@MODEST
@given(ANY_TRACE, st.data())
def test_repeated_spans_change_nothing(trace: list[Span], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(trace), max_size=5))
    repeated = decompose([*trace, *again])
    assert repeated.runs == decompose(trace).runs
    assert repeated.duplicate_spans == len(again)


@MODEST
@given(ANY_TRACE, spans(number=99, parents=14))
def test_a_late_span_gives_what_it_would_have_given_from_the_start(trace: list[Span], late: Span) -> None:
    assert decompose([*trace, late]) == decompose([late, *trace])


@MODEST
@given(ANY_TRACE, st.integers(-(10**15), 10**15))
def test_a_shift_in_time_changes_no_duration(trace: list[Span], by: int) -> None:
    moved = [
        replace(
            span,
            start_unix_ns=span.start_unix_ns + by,
            end_unix_ns=span.end_unix_ns + by,
            events=tuple(replace(event, unix_ns=event.unix_ns + by) for event in span.events),
        )
        for span in trace
    ]
    before, after = decompose(trace).runs, decompose(moved).runs
    assert [run.breakdown for run in after] == [run.breakdown for run in before]
    assert [run.start_unix_ns - by for run in after] == [run.start_unix_ns for run in before]
    assert [run.ttft_ns for run in after] == [run.ttft_ns for run in before]


CLAIMS = st.lists(
    st.builds(
        lambda start, length, owner, number: Claim(start, start + length, owner, f"s{number}", Source.CLIENT, 0),
        st.integers(0, 60),
        st.integers(0, 12),
        st.sampled_from([Stage.PREFILL, Stage.DECODE, Stage.TOOL_EXECUTION]),
        st.integers(0, 3),
    ),
    max_size=6,
)


@MODEST
@given(CLAIMS)
def test_claims_in_line_are_swept_as_any_others(claims: list[Claim]) -> None:
    run = Scope(index=0, level=0, parent=None, start=0, end=70)
    idle = Scope(index=1, level=0, parent=run, start=0, end=0)  # a second scope: the general way is taken
    assert sweep(claims, [run], 0, 70) == sweep(claims, [run, idle], 0, 70)


NESTED = st.lists(
    st.builds(
        lambda start, length, owner, name, scope, branch, inner: Claim(
            start, start + length, owner, f"s{name}", Source.CLIENT, scope, 1 if inner and not scope else None, branch
        ),
        st.integers(0, 12),
        st.integers(0, 12),
        st.sampled_from([Stage.PREFILL, Stage.DECODE, Stage.TOOL_EXECUTION]),
        st.integers(0, 9),
        st.integers(0, 1),
        st.booleans(),
        st.booleans(),
    ),
    max_size=9,
)


@given(NESTED)
def test_each_instant_has_the_owner_that_the_rule_names(claims: list[Claim]) -> None:
    run = Scope(index=0, level=0, parent=None, start=0, end=26)
    inner = Scope(index=1, level=1, parent=run, start=0, end=26, background=Stage.TOOL_PARSING)
    phases = sweep(claims, [run, inner], 0, 26)
    claims.sort(key=lambda claim: (claim.start, RANK[claim.owner], -claim.end, claim.span_id or ""))
    by_rule = [_owner_by_rule(claims, [run, inner], at) for at in range(26)]
    assert [(p.owner, p.span_id) for p in phases for _ in range(p.start_unix_ns, p.end_unix_ns)] == by_rule


def _owner_by_rule(claims: list[Claim], scopes: list[Scope], at: int, index: int = 0) -> tuple[Owner, str | None]:
    """What started last owns; of tools and branches, if one of them started last, the one that ends last."""
    now = [claim for claim in claims if claim.scope == index and claim.start <= at < claim.end]
    if not now:
        return scopes[index].background, scopes[index].background_span_id
    latest = min(now, key=lambda claim: (-claim.start, RANK[claim.owner], not claim.branch))
    if latest.branch:
        latest = min([claim for claim in now if claim.branch], key=lambda claim: (-claim.end, -claim.start))
    return (latest.owner, latest.span_id) if latest.inner is None else _owner_by_rule(claims, scopes, at, latest.inner)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
JSON_LIKE = st.sampled_from([
    "[", "{}", "[]", '"', '""', "null", '{"tool_call":', '[{"type": ["tool_call"], "role": {}, "function": 3}]',
    '[{"role": [], "type": {}, "parts": [1, {"type": ["tool_result"]}]}]', '{"messages": [[[[["tool"]]]]]}',
    '{"toolUse": {"name": 4}, "tool_calls": [{"function": {"name": 1, "arguments": []}}]}',
    "1e999", "-5", "0001-01-01T00:00:00+23:59", "[" * 5_000, '{"prompt_tokens_details": 4, "input": -1}',
])  # fmt: skip
KEYS = (
    "gen_ai.operation.name", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.output.messages",
    "gen_ai.input.messages", "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens",
    "gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token", "gen_ai.tool.name",
    "gen_ai.tool.call.id", "gen_ai.conversation.id", "gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token",
    "openinference.span.kind", "llm.token_count.prompt", "llm.output_messages.0.message.role", "output.value",
    "input.value", "metadata", "llm.invocation_parameters", "traceloop.span.kind", "llm.request.type",
    "llm.is_streaming", "ai.operationId", "ai.response.toolCalls", "ai.response.msToFirstChunk",
    "langfuse.observation.type", "langfuse.observation.usage_details", "langfuse.observation.output",
    "langfuse.observation.completion_start_time", "mlflow.spanType", "mlflow.chat.tokenUsage",
    "mlflow.spanOutputs", "mcp.method.name", "logfire.msg_template", "usage", "response", "error.type",
    "http.request.method", "http.response.status_code", "sixstage.stage", "sixstage.attempt", "service.name",
)  # fmt: skip
SPEAKING = st.sampled_from([
    {"gen_ai.operation.name": "chat"}, {"openinference.span.kind": "LLM"}, {"mlflow.spanType": '"CHAT_MODEL"'},
    {"langfuse.observation.type": "generation"}, {"ai.operationId": "ai.streamText.doStream"},
    {"logfire.msg_template": "Chat completion with"}, {"traceloop.span.kind": "tool"}, {},
])  # fmt: skip


@MODEST
@given(
    SPEAKING,
    st.dictionaries(st.sampled_from(KEYS), st.one_of(VALUES, JSON_LIKE), max_size=12),
    st.sampled_from(["gen_ai.choice", "mlflow.chunk.item.0", "exception", "gen_ai.content.completion.chunk"]),
    VALUES,
)
def test_no_attribute_can_break_an_adapter(
    speaking: dict[str, Any], attributes: dict[str, Any], event: str, value: Any
) -> None:
    span = Span(
        trace_id=TRACE, span_id="a" * 16, parent_span_id=None, name="x", kind=1,
        start_unix_ns=NOON, end_unix_ns=NOON + 10**9, attributes={**attributes, **speaking},
        events=(Event(name=event, unix_ns=NOON + 10**8, attributes={"message": value, "mlflow.chunk.value": value}),),
        resource={"service.name": value, "deployment.environment": value},
    )  # fmt: skip
    read_facts(span)
    assert_exact(decompose([span]))
