"""Questions about engines: how each is now, and how one of its figures went over time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from ingest.engines.differences import Sample
from ingest.engines.figures import SHARES, Figures, figures, gauge, models_of, spread
from ingest.engines.names import METRICS, Type, Unit
from ingest.engines.store import day_of
from ingest.engines.windows import hit_rate, speculation
from ingest.models import EngineTarget
from ingest.read.engine_samples import NS, Step, steps
from ingest.scope import Scope

WINDOW_S = 300
STALE_INTERVALS = 3
MOST_STEPS = 1_500
LONGEST_NS = 400 * 86_400 * NS
DERIVED = {"hit_rate": ("prefix_hits", "prefix_queries", "prefix_misses"),
           "acceptance": ("spec_drafts", "spec_draft_tokens", "spec_accepted", "spec_accepted_at")}  # fmt: skip


class BadSeries(ValueError):
    """A series was asked for that there is not, or over no time; the text says what can be asked."""


@dataclass(slots=True, kw_only=True)
class EngineRow:
    """A target as it stands. ``state`` is new, up, failing, stale or off; ``figures`` are of the last ``window_s`` of
    the whole page, ``models`` of each model on it where there are several."""

    id: int
    name: str
    url: str
    kind: str
    seen_kind: str | None
    labels: dict[str, str]
    origin: str
    enabled: bool
    interval_ms: int
    timeout_ms: int
    has_credentials: bool
    verify_tls: bool
    state: str
    reason: str | None
    detail: str | None
    failures: int
    failing_since_unix_ns: int | None
    sample_unix_ns: int | None
    scraped_unix_ns: int | None
    model_names: list[str]
    window_s: int
    scrapes: int
    figures: Figures | None
    models: list[Figures] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class FailureRow:
    at_unix_ns: int
    took_ms: int
    reason: str
    detail: str


@dataclass(slots=True, kw_only=True)
class SeriesPoint:
    """``values`` are by name, as the series' ``fields`` say; a step that nobody observed has none."""

    start_unix_ns: int
    scrapes: int
    values: dict[str, float | None]


@dataclass(slots=True, kw_only=True)
class Series:
    metric: str
    model: str | None
    what: str
    unit: str
    from_unix_ns: int
    to_unix_ns: int
    step_s: int
    points: list[SeriesPoint]


def list_engines(scope: Scope, now_ns: int, metrics: Collection[str] | None = None) -> list[EngineRow]:
    """All targets of the project, those in trouble first; with all figures, or those of some metrics."""
    targets = list(EngineTarget.objects.filter(project_id=scope.project_id).order_by("name", "pk"))
    told = _now(scope, targets, now_ns, metrics)
    rows = [_row(target, told.get(target.pk), now_ns) for target in targets]
    return sorted(rows, key=lambda row: (_rank(row), row.name))


def read_engine(scope: Scope, engine_id: int, now_ns: int) -> EngineRow | None:
    target = EngineTarget.objects.filter(project_id=scope.project_id, pk=engine_id).first()
    if target is None:
        return None
    return _row(target, _now(scope, [target], now_ns).get(target.pk), now_ns, by_model=True)


def read_failures(scope: Scope, engine_id: int, since_ns: int, limit: int = 50) -> list[FailureRow]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT at_unix_ns, took_ms, reason, detail FROM ingest_engine_failure
               WHERE project_id = %s AND target_id = %s AND at_unix_ns >= %s ORDER BY at_unix_ns DESC LIMIT %s""",
            [scope.project_id, engine_id, since_ns, limit],
        )
        return [FailureRow(at_unix_ns=a, took_ms=t, reason=r, detail=d) for a, t, r, d in cursor.fetchall()]


def count_failures(scope: Scope, engine_id: int, from_ns: int, to_ns: int, step_ns: int) -> dict[int, int]:
    """How many scrapes of an engine failed, by step from an instant on; none where none did."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT (at_unix_ns - %s) / %s, count(*) FROM ingest_engine_failure
               WHERE project_id = %s AND target_id = %s AND day BETWEEN %s AND %s
                 AND at_unix_ns >= %s AND at_unix_ns < %s GROUP BY 1""",
            [from_ns, step_ns, scope.project_id, engine_id, day_of(from_ns), day_of(to_ns), from_ns, to_ns],
        )
        return dict(cursor.fetchall())


def series_names() -> list[str]:
    return [*METRICS, *DERIVED]


def read_series(
    scope: Scope,
    engine_id: int,
    metrics: Sequence[str],
    from_ns: int,
    to_ns: int,
    step_s: int,
    model: str | None = None,
) -> list[Series] | None:
    """One series for each of ``metrics``, from one look at the store; None for an engine that the scope has not.

    Raises BadSeries.
    """
    _check(metrics, from_ns, to_ns, step_s)
    target = EngineTarget.objects.filter(project_id=scope.project_id, pk=engine_id).first()
    if target is None:
        return None
    wanted = {part for metric in metrics for part in DERIVED.get(metric, (metric,))}
    found = steps(scope, {target.pk: target.interval_ms}, from_ns, to_ns, step_s * NS, wanted)[target.pk]
    count = -(-(to_ns - from_ns) // (step_s * NS))
    return [
        Series(
            metric=metric, model=model, what=_what(metric), unit=_unit(metric), from_unix_ns=from_ns, to_unix_ns=to_ns,
            step_s=step_s,
            points=[
                SeriesPoint(
                    start_unix_ns=from_ns + n * step_s * NS, scrapes=found[n].scrapes if n in found else 0,
                    values=_values(found[n], metric, model) if n in found else {},
                )
                for n in range(count)
            ],
        )
        for metric in metrics
    ]  # fmt: skip


def _check(metrics: Sequence[str], from_ns: int, to_ns: int, step_s: int) -> None:
    for metric in metrics:
        if metric not in METRICS and metric not in DERIVED:
            raise BadSeries(f"there is no series {metric[:60]!r}; there are {', '.join(series_names())}")
    if not 0 <= from_ns < to_ns or to_ns - from_ns > LONGEST_NS:
        raise BadSeries("a series is of a range of time: from before to, at most 400 days apart")
    if step_s < 1 or (to_ns - from_ns) / (step_s * NS) > MOST_STEPS:
        raise BadSeries(f"a series has at most {MOST_STEPS} steps of whole seconds; this one would have more")


def _values(step: Step, metric: str, model: str | None) -> dict[str, float | None]:
    if metric == "hit_rate":
        told = step.window
        return {"share": hit_rate(told, model), "hits": told.total("prefix_hits", model),
                "queries": told.total("prefix_queries", model)}  # fmt: skip
    if metric == "acceptance":
        spec = speculation(step.window, model)
        return {} if spec is None else {"share": spec.acceptance, "accepted_length": spec.accepted_length,
                                        **{f"position {p}": v for p, v in spec.by_position.items()}}  # fmt: skip
    kind = METRICS[metric].type
    if kind is Type.GAUGE:
        return _gauge_values(step, metric, model)
    told = step.window
    if kind is Type.COUNTER:
        count = told.total(metric, model)
        rate = count / told.seconds if count is not None and told.seconds > 0 else None
        return {"count": count, "per_second": rate, **told.by_part(metric, model)}
    made = spread(told.histogram(metric, model), metric)
    if made is None:
        return {}
    points = {name: getattr(made, name) for name in SHARES}
    return {"count": made.count, "mean": made.mean} | {n: p.value if p else None for n, p in points.items()}


def _gauge_values(step: Step, metric: str, model: str | None) -> dict[str, float | None]:
    last = gauge(step.last, metric, model)
    if metric in ("running", "waiting", "kv_usage") and model is None:
        mean, most = getattr(step, metric)
        return {"mean": mean, "max": most, "last": last}
    return {"last": last}


def _what(metric: str) -> str:
    return METRICS[metric].what if metric in METRICS else {
        "hit_rate": "tokens found in the prefix cache, of those looked up",
        "acceptance": "draft tokens accepted, of those drafted",
    }[metric]  # fmt: skip


def _unit(metric: str) -> str:
    if metric in DERIVED:
        return "ratio"
    return "ns" if _is_time(metric) else METRICS[metric].unit


def _is_time(metric: str) -> bool:
    return METRICS[metric].unit is Unit.SECONDS and METRICS[metric].type is Type.HISTOGRAM


def _now(
    scope: Scope, targets: Sequence[EngineTarget], now_ns: int, metrics: Collection[str] | None = None
) -> dict[int, Step]:
    """Of each target that has samples of late, the last minutes as one step."""
    fresh = {t.pk: t.interval_ms for t in targets if t.sample_unix_ns and t.sample_unix_ns >= now_ns - WINDOW_S * NS}
    if not fresh:
        return {}
    found = steps(scope, fresh, now_ns - WINDOW_S * NS, now_ns + NS, (WINDOW_S + 1) * NS, metrics)
    return {target: by_step[0] for target, by_step in found.items() if 0 in by_step}


def _row(target: EngineTarget, step: Step | None, now_ns: int, *, by_model: bool = False) -> EngineRow:
    told, last = (step.window, step.last) if step else (None, None)
    running = (gauge(step.before, "running"), gauge(last, "running")) if step else (None, None)
    models = models_of([last]) if last else list(target.seen_models)
    several = by_model and told is not None and len(models) > 1
    return EngineRow(
        id=target.pk, name=target.name, url=target.url, kind=target.kind, seen_kind=target.seen_kind or None,
        labels=dict(target.labels), origin=target.origin, enabled=target.enabled, interval_ms=target.interval_ms,
        timeout_ms=target.timeout_ms, has_credentials=target.credentials is not None,
        verify_tls=bool(target.tls.get("verify", True)), state=state_of(target, now_ns), reason=target.reason or None,
        detail=target.detail or None, failures=target.failures, failing_since_unix_ns=target.failing_since_unix_ns,
        sample_unix_ns=target.sample_unix_ns, scraped_unix_ns=target.scraped_unix_ns, model_names=models,
        window_s=WINDOW_S, scrapes=step.scrapes if step else 0,
        figures=figures(told, last, None, running) if told is not None else None,
        models=[figures(told, last, model, _ends(step, model)) for model in models] if several and told else [],
    )  # fmt: skip


def _ends(step: Step | None, model: str) -> tuple[float | None, float | None]:
    return (gauge(step.before, "running", model), gauge(step.last, "running", model)) if step else (None, None)


def state_of(target: EngineTarget, now_ns: int) -> str:
    """new, up, failing, stale (nobody scrapes, or nothing is sent any more) or off."""
    if not target.enabled:
        return "off"
    if target.failures:
        return "failing"
    if target.scraped_unix_ns is None:
        return "new"
    waited_ns = now_ns - target.scraped_unix_ns
    longest_ns = max(15 * NS, STALE_INTERVALS * (target.interval_ms + target.timeout_ms) * 1_000_000)
    return "stale" if waited_ns > longest_ns else "up"


_RANKS = ("failing", "stale", "up", "new", "off")


def _rank(row: EngineRow) -> Any:
    trouble = row.figures is not None and row.figures.saturation.is_trouble
    return _RANKS.index(row.state), not trouble


def last_gauges(sample: Sample | None) -> tuple[float | None, float | None, float | None]:
    return gauge(sample, "running"), gauge(sample, "waiting"), gauge(sample, "kv_usage")
