"""The head of a run: the ten with their sources, the key figures, and which span its panel shows first."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from dashboard.figures import NOT_KNOWN, exact_together, share_of
from dashboard.pages.parts import bar
from ingest.read.values import RunDetail
from ingest.stages.model import Outside, Source

MODEL_PARTS = ("prefill", "decode", "re_encoding", "continue_decode")


def split(run: RunDetail) -> list[dict[str, Any]]:
    """All ten, rounded together so that they add up to the wall above them."""
    parts, sources = bar.amounts(run), _sources_ns(run)
    figures = exact_together(list(parts.values()), run.wall_ns)
    most = max(parts, key=parts.__getitem__)
    # Nothing measured where the source is unknown is not zero: its time lies in model_unsplit, or, where no span tells
    # of a model at all, in orchestration.
    unknown = {stage for stage in parts if run.sources.get(stage) == Source.UNKNOWN}
    if any(warning.code == "model_not_instrumented" for warning in run.warnings):
        unknown |= {*MODEL_PARTS}
    return [
        {
            "stage": stage,
            "ns": ns,
            "figure": NOT_KNOWN if not ns and stage in unknown else figure,
            "share": None if not ns and stage in unknown else share_of(ns, run.wall_ns),
            "most": ns > 0 and stage == most,
            "source": _source(run, stage, ns, stage in unknown, sources.get(stage, {})),
            "of_some_calls": ns > 0 and stage in unknown,
            "sources_ns": list(sources[stage].items()) if len(sources.get(stage, {})) > 1 else [],
        }
        for (stage, ns), figure in zip(parts.items(), figures, strict=True)
    ]


def _source(run: RunDetail, stage: str, ns: int, unknown: bool, by_source: dict[str, int]) -> str | None:
    """What is measured of a stage that is unknown for other calls keeps the source that measured it."""
    if unknown:
        return _weakest(by_source) if ns else Source.UNKNOWN
    return run.sources.get(stage) or _weakest(by_source)


def _sources_ns(run: RunDetail) -> dict[str, dict[str, int]]:
    """How much of each of the ten came from which source. The run says it of the stages, its phases of the rest."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for phase in run.phases:
        if phase.owner in run.outside_ns and phase.owner != Outside.ORCHESTRATION:
            found[phase.owner][phase.source] += phase.end_ns - phase.start_ns
    told = {stage: {k: ns for k, ns in by_source.items() if ns} for stage, by_source in run.sources_ns.items()}
    return {**found, **{stage: by_source for stage, by_source in told.items() if by_source}}


def _weakest(by_source: dict[str, int]) -> str | None:
    return max(by_source, key=[*Source].index, default=None)


def facts(run: RunDetail) -> dict[str, Any]:
    tools = [tool for tool in run.tools if not tool.pseudo]
    waited, busy = run.stages_ns.get("tool_execution", 0), run.busy_ns.get("tool_execution", 0)
    return {
        "ttft_share": share_of(run.ttft_sum_ns, run.wall_ns),
        "cached_share": share_of(run.cached_tokens, run.input_tokens),
        "tools": len(tools),
        "tools_ok": sum(tool.ok is True for tool in tools),
        "retries": sum(tool.attempts - 1 for tool in tools if tool.attempts > 1),
        "parallelism": f"{busy / waited:.2f}" if waited else None,
        "nested_calls": sum(call.scope > 0 for call in run.calls),
    }


def figures(run: RunDetail) -> dict[str, Any]:
    """What the page compares with what it has shown, once the run has changed."""
    return {
        "wall_ns": run.wall_ns, "spans": run.spans, "warnings": len(run.warnings), "parts_ns": bar.amounts(run),
        "provisional": run.provisional, "in_flight": not run.root_ended,
    }  # fmt: skip


def costliest(run: RunDetail) -> str:
    """The span that the panel shows first: the call or tool that took longest."""
    longest = max([*run.calls, *(t for t in run.tools if not t.agent)], key=lambda fact: fact.wall_ns, default=None)
    return longest.span_id if longest else run.root_span_id
