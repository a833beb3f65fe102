"""Engines joined to the calls they served: which engine, how that is known, and what it was doing meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ingest.engines.around import Around, CallFacts, around
from ingest.engines.differences import Sample
from ingest.engines.kinds import Kind
from ingest.engines.store import longest_gap_ns
from ingest.models import EngineTarget
from ingest.read.engine_samples import samples_around
from ingest.read.traces import spans_about
from ingest.read.values import CallRow, RunDetail, SpanRow
from ingest.scope import Scope

MOST_CALLS = 1_000  # whose spans are read only to find their servers' addresses
SERVICE_LABELS = ("service", "service.name", "service_name", "job")
LOCAL = {"localhost": "127.0.0.1", "::1": "127.0.0.1"}


@dataclass(slots=True, kw_only=True)
class EngineState:
    """``joined_by`` is how the call's engine is known: its span, the server's address, or the only engine that
    serves the model."""

    engine_id: int
    engine_name: str
    joined_by: str
    state: Around


def join_engines(scope: Scope, run: RunDetail) -> None:
    """Tell each of the run's calls what its engine was doing."""
    states = engine_states(scope, run)
    for call in run.calls:
        call.engine_state = states.get(call.span_id)


def engine_states(scope: Scope, run: RunDetail) -> dict[str, EngineState]:
    """By call, of those whose engine is scraped. Read from the store: the engine itself may be long gone."""
    told = EngineTarget.objects.filter(project_id=scope.project_id, sample_unix_ns__isnull=False)
    targets = list(told.exclude(seen_kind=Kind.GEN_AI))
    if not targets or not run.calls:
        return {}
    found = _engines_of(scope, run, targets)
    by_target: dict[int, list[CallRow]] = defaultdict(list)
    for call in run.calls:
        if call.span_id in found:
            by_target[found[call.span_id][0].pk].append(call)
    states: dict[str, EngineState] = {}
    for target in targets:
        calls = by_target.get(target.pk)
        if not calls:
            continue
        samples = _samples(scope, target, calls)
        for call in calls:
            state = around(samples, _facts(call), longest_gap_ns(target.interval_ms))
            if state.before or state.during or state.after:
                states[call.span_id] = EngineState(
                    engine_id=target.pk, engine_name=target.name, joined_by=found[call.span_id][1], state=state
                )
    return states


def _samples(scope: Scope, target: EngineTarget, calls: Sequence[CallRow]) -> list[Sample]:
    start = min(call.start_unix_ns for call in calls)
    end = max(call.start_unix_ns + call.wall_ns for call in calls)
    return list(samples_around(scope, target.pk, start, end, longest_gap_ns(target.interval_ms)))


def _facts(call: CallRow) -> CallFacts:
    return CallFacts(
        start_unix_ns=call.start_unix_ns, wall_ns=call.wall_ns, model=call.model, ttft_ns=call.ttft_ns,
        input_tokens=call.input_tokens, cached_tokens=call.cached_tokens,
    )  # fmt: skip


def _engines_of(scope: Scope, run: RunDetail, targets: Sequence[EngineTarget]) -> dict[str, tuple[EngineTarget, str]]:
    """By call: the engine's own span names it; else the address called; else its model, if only one serves that."""
    names = _by_name(targets)
    found = {call.span_id: (names[call.engine], "engine span") for call in run.calls if call.engine in names}
    open_calls = [call for call in run.calls if call.span_id not in found]
    if open_calls and len(open_calls) <= MOST_CALLS:
        for call, address in _addresses(scope, run, open_calls):
            target = next((t for t in targets if _place_of(t) == address), None)
            if target is not None:
                found[call.span_id] = (target, "server address")
    for call in open_calls:
        serving = [target for target in targets if call.model in target.seen_models]
        if call.span_id not in found and len(serving) == 1:
            found[call.span_id] = (serving[0], "model")
    return found


def _by_name(targets: Sequence[EngineTarget]) -> Mapping[str | None, EngineTarget]:
    """By what an engine's spans may call it. A name that several targets go by joins nothing."""
    found: dict[str | None, EngineTarget] = {}
    twice: set[str] = set()
    for target in targets:
        for name in {target.name, *(target.labels[key] for key in SERVICE_LABELS if key in target.labels)}:
            if name in found:
                twice.add(name)
            found[name] = target
    return {name: target for name, target in found.items() if name not in twice}


def _addresses(scope: Scope, run: RunDetail, calls: Sequence[CallRow]) -> Iterator[tuple[CallRow, tuple[str, int]]]:
    """The server that each call's span, or the HTTP span below it, names."""
    found = spans_about(scope, run.trace_id, [call.span_id for call in calls])
    spans = {span.span_id: span for span in found}
    below: dict[str, list[SpanRow]] = defaultdict(list)
    for span in found:
        if span.parent_span_id:
            below[span.parent_span_id].append(span)
    for call in calls:
        own = [spans[call.span_id]] if call.span_id in spans else []
        told = [address for span in (*below.get(call.span_id, ()), *own) if (address := _address(span)) is not None]
        if told:
            yield call, told[-1] if not below.get(call.span_id) else told[0]


def _address(span: SpanRow) -> tuple[str, int] | None:
    attributes = span.attributes or {}
    url = attributes.get("url.full") or attributes.get("http.url")
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        return _place(url)
    host = attributes.get("server.address") or attributes.get("net.peer.name")
    port = attributes.get("server.port") or attributes.get("net.peer.port")
    if not isinstance(host, str) or not host:
        return None
    if host.startswith(("http://", "https://")):
        return _place(host)
    return _host(host), int(port) if isinstance(port, int) or (isinstance(port, str) and port.isdigit()) else 443


def _place_of(target: EngineTarget) -> tuple[str, int] | None:
    """Where a target listens; one that tells of itself by OTLP is called so by its collector."""
    if target.url:
        return _place(target.url)
    instance = target.labels.get("service.instance.id", "")
    return _place(f"http://{instance}") if ":" in instance else None


def _place(url: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(url)
        return _host(parts.hostname or ""), parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None


def _host(host: str) -> str:
    host = host.lower().rstrip(".")
    return LOCAL.get(host, host)
