"""One run: why was it slow? The page, and the fragments of its side panel."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from dashboard.figures import NOT_KNOWN, costs_together, exact_together, share_of
from dashboard.pages.parts import bar, engine_rows, rounds, span_panel
from dashboard.pages.parts.waterfall import waterfall
from dashboard.verdicts import judge
from ingest.read.engine_state import join_engines
from ingest.read.run import current_run_id, run_detail
from ingest.read.traces import span_detail, trace_detail
from ingest.read.values import RunDetail
from ingest.scope import Scope
from ingest.stages.model import Outside, Source


def page(request: HttpRequest, run_id: str) -> HttpResponse:
    scope = request.access.scope
    run = run_detail(scope, run_id, time.time_ns())
    if run is None:
        return _moved(request, run_id)
    join_engines(scope, run)
    trace = trace_detail(scope, run.trace_id, with_attributes=False)
    context = {
        "page": "runs",
        "run": run,
        "verdict": judge(run),
        "split": _split(run),
        "facts": _facts(run),
        "rounds": rounds.rounds(run),
        "engine_rows": engine_rows.rows(run),
        "cost": costs_together([call.cost for call in run.calls], run.cost)[-1],
        "waterfall": waterfall(run, trace),
        "chosen": _costliest(run),
    }
    context["longest_ns"] = max((r.wall_ns for r in context["rounds"]), default=0)
    return render(request, "run/page.html", context)


def span(request: HttpRequest, run_id: str, span_id: str) -> HttpResponse:
    """The side panel of one span; with ``?value=key`` one of its attributes, whole."""
    scope = request.access.scope
    run = run_detail(scope, run_id, time.time_ns())
    stored = span_detail(scope, run.trace_id, span_id) if run else None
    if key := request.GET.get("value"):
        return _whole_value(stored, key)
    panel = span_panel.panel(run, span_id, stored) if run else None
    if panel is None:
        return render(request, "run/span_missing.html", {"span_id": span_id}, status=404)
    return render(request, "run/span.html", {"run": run, "panel": panel, **_engine(scope, run, span_id)})


def _engine(scope: Scope, run: RunDetail, span_id: str) -> dict[str, Any]:
    """What the call's engine was doing, where the span is a call whose engine is known."""
    call = next((call for call in run.calls if call.span_id == span_id), None)
    if call is None:
        return {}
    join_engines(scope, replace(run, calls=[call]))
    if call.engine_state is None:
        return {}
    return {
        "engine_state": call.engine_state, "engine_pairs": engine_rows.pairs(call),
        "engine_words": engine_rows.words(call.engine_state.state, call),
    }  # fmt: skip


def _whole_value(stored: Any, key: str) -> HttpResponse:
    text = span_panel.whole_value(stored, key)
    return HttpResponse(
        text if text is not None else "This value is not stored any more.",
        content_type="text/plain; charset=utf-8",
    )


def _moved(request: HttpRequest, run_id: str) -> HttpResponse:
    """A run whose root was replaced by a late parent lives on under another id; others are not here."""
    current = current_run_id(request.access.scope, run_id)
    if current is not None and current != run_id:
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(reverse("run", args=[current]) + (f"?{query}" if query else ""))
    context = {"page": "runs", "run_id": run_id, "retention_days": settings.SIXSTAGE_RETENTION_DAYS}
    return render(request, "run/missing.html", context, status=404)


def _split(run: RunDetail) -> list[dict[str, Any]]:
    """All ten, rounded together so that they add up to the wall above them."""
    parts, sources = bar.amounts(run), _sources_ns(run)
    figures = exact_together(list(parts.values()), run.wall_ns)
    most = max(parts, key=parts.__getitem__)
    return [
        {
            "stage": stage,
            "ns": ns,
            # Nothing measured where the source is unknown is not zero: its time lies in model_unsplit.
            "figure": NOT_KNOWN if not ns and run.sources.get(stage) == Source.UNKNOWN else figure,
            "share": None if not ns and run.sources.get(stage) == Source.UNKNOWN else share_of(ns, run.wall_ns),
            "most": ns > 0 and stage == most,
            "source": run.sources.get(stage) or _weakest(sources.get(stage, {})),
            "sources_ns": list(sources[stage].items()) if len(sources.get(stage, {})) > 1 else [],
        }
        for (stage, ns), figure in zip(parts.items(), figures, strict=True)
    ]


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


def _facts(run: RunDetail) -> dict[str, Any]:
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


def _costliest(run: RunDetail) -> str:
    """The span that the panel shows first: the call or tool that took longest."""
    longest = max([*run.calls, *(t for t in run.tools if not t.agent)], key=lambda fact: fact.wall_ns, default=None)
    return longest.span_id if longest else run.root_span_id
