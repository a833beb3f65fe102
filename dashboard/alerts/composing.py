"""What a message says of its alerts: sentences, links, the stage that it is about, and the three slowest runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from dashboard import figures
from dashboard.alerts.core.amounts import read_duration
from dashboard.alerts.core.labels import NONE, OTHER
from dashboard.alerts.core.measures import MEASURES, Measure
from dashboard.alerts.core.rule import SECOND_NS
from dashboard.alerts.models import AlertEvent, Firing, Kind
from dashboard.pages.parts.bar import LABELS
from ingest.read.runs import BadFilter, RunFilter, find_runs
from ingest.read.summary import Question, summarise
from ingest.read.values import RunFigures, RunRow
from ingest.rollups.counting import Kind as Items
from ingest.scope import Scope

SLOWEST, TOLD_IN_FULL = 3, 10
DAY_NS = 86_400 * SECOND_NS
RUN_FILTERS = ("service", "version", "environment", "agent", "model", "tool", "session", "user", "status")


def compose(events: Sequence[AlertEvent], now_ns: int) -> dict[str, Any]:
    """The body of a notification, in plain values."""
    newest = _newest(events)
    alerts = [_alert(event, now_ns, in_full=at < TOLD_IN_FULL) for at, event in enumerate(newest)]
    first = newest[0].firing
    return {
        "project": first.project.slug, "title": _title(alerts), "alerts": alerts,
        "events": [str(event.pk) for event in events], "thread": str(first.pk),
        "made_unix_ns": str(now_ns), "url": f"{settings.CONFIG.public_url}/alerts?{_project(first)}",
    }  # fmt: skip


def _newest(events: Sequence[AlertEvent]) -> list[AlertEvent]:
    """Of each firing the last that happened; those that fire before those that ended."""
    latest = {event.firing_id: event for event in sorted(events, key=lambda event: (event.at_unix_ns, event.kind))}
    return sorted(latest.values(), key=lambda event: (event.kind == Kind.RESOLVED, event.at_unix_ns))


def _title(alerts: list[dict[str, Any]]) -> str:
    firing = [alert for alert in alerts if alert["status"] == "firing"]
    if len(alerts) == 1:
        return str(alerts[0]["heading"])
    words = [f"{len(firing)} firing"] if firing else []
    words += [f"{len(alerts) - len(firing)} resolved"] if len(firing) < len(alerts) else []
    return f"{' and '.join(words)}: {alerts[0]['title']}"


def _alert(event: AlertEvent, now_ns: int, *, in_full: bool) -> dict[str, Any]:
    firing = event.firing
    is_over = event.kind == Kind.RESOLVED
    to_ns = firing.resolved_unix_ns if is_over and firing.resolved_unix_ns else event.at_unix_ns
    from_ns = min(firing.since_unix_ns, firing.fired_unix_ns) - firing.window_s * SECOND_NS
    wanted = run_filter(firing, max(from_ns, to_ns - DAY_NS), to_ns)
    runs = slowest(firing, wanted, now_ns) if in_full else []
    stage = stage_of(firing, wanted, now_ns) if in_full and not is_over else None
    heading = {Kind.FIRED: "Firing", Kind.REPEATED: "Still firing", Kind.RESOLVED: "Resolved"}[Kind(event.kind)]
    return {
        "event_id": str(event.pk), "firing_id": str(firing.pk), "kind": event.kind,
        "status": "resolved" if is_over else "firing", "rule": firing.rule_name, "severity": firing.severity,
        "labels": firing.labels, "fingerprint": firing.fingerprint, "title": firing.title,
        "heading": f"{heading}: {firing.title}", "sentences": _sentences(event, stage), "stage": stage,
        "since_unix_ns": str(firing.since_unix_ns), "fired_unix_ns": str(firing.fired_unix_ns),
        "resolved_unix_ns": str(firing.resolved_unix_ns) if is_over else None,
        "value": firing.value, "limit": firing.limit, "samples": firing.samples, "note": event.body.get("note", ""),
        "links": links_of(firing, wanted),
        "slowest": [
            {"run_id": run.run_id, "url": _url(f"/runs/{run.run_id}", _project(firing)), "words": _run_words(run),
             "wall_ns": run.wall_ns} for run in runs
        ],
    }  # fmt: skip


def _sentences(event: AlertEvent, stage: Mapping[str, Any] | None) -> list[str]:
    """What, since when, how bad and which stage; each a sentence."""
    firing = event.firing
    since = f"{figures.instant(firing.since_unix_ns):%H:%M on %-d %b} UTC"
    if event.kind == Kind.RESOLVED and firing.resolved_unix_ns:
        lasted = figures.duration(firing.resolved_unix_ns - firing.fired_unix_ns)
        return [f"{firing.title} — that was so since {since}.", event.body["how_bad"], f"It fired for {lasted}."]
    told = [f"{firing.title}, since {since}.", event.body.get("how_bad", "")]
    if event.kind == Kind.REPEATED:
        told.append(f"It has been firing for {figures.duration(event.at_unix_ns - firing.fired_unix_ns)}.")
    if stage:
        told.append(stage["words"])
    return [sentence for sentence in told if sentence]


def run_filter(firing: Firing, from_ns: int, to_ns: int) -> RunFilter:
    """The runs that an alert is about, as far as lists of runs can be narrowed."""
    told = {name: value for name, value in firing.labels.items() if name in RUN_FILTERS and value not in (NONE, OTHER)}
    if firing.measure == "runs.error_rate":
        told["status"] = "error"
    min_wall_ns = read_duration(firing.labels["min_wall"]) if "min_wall" in firing.labels else None
    return RunFilter(from_unix_ns=from_ns, to_unix_ns=to_ns, min_wall_ns=min_wall_ns, sort="slowest", limit=SLOWEST,
                     **told)  # fmt: skip


def slowest(firing: Firing, wanted: RunFilter, now_ns: int) -> list[RunRow]:
    try:
        return find_runs(Scope(project_id=firing.project_id), wanted, now_ns).runs
    except BadFilter:
        return []


def links_of(firing: Firing, wanted: RunFilter) -> dict[str, str]:
    """``view`` is the list of exactly these runs; ``alert`` the page of this firing, to see or silence it."""
    project = _project(firing)
    query: dict[str, Any] = {name: value for name in RUN_FILTERS if (value := getattr(wanted, name)) is not None}
    query |= {"from": wanted.from_unix_ns, "to": wanted.to_unix_ns, "sort": "slowest"}
    if wanted.min_wall_ns is not None:
        query["min_wall"] = f"{wanted.min_wall_ns}ns"
    links = {
        "view": _url("/runs", f"{project}&{urlencode(query)}"),
        "alert": _url(f"/alerts/firings/{firing.pk}", project),
    }
    if firing.rule_id is not None:
        links["rule"] = _url(f"/alerts/rules/{firing.rule_id}", project)
    return links


def stage_of(firing: Firing, wanted: RunFilter, now_ns: int) -> dict[str, Any] | None:
    """The stage that an alert is about: that of its measure; else the one whose mean grew most against the day before;
    in words. None where nobody can tell."""
    measure = MEASURES[firing.measure]
    if measure.source == "engine":
        return _named(measure, "") if measure.stage else None
    now = _means(firing, wanted, now_ns)
    if not now:
        return _named(measure, "") if measure.stage else None
    before_to = wanted.from_unix_ns or 0
    before = _means(firing, _moved(wanted, before_to - DAY_NS, before_to), now_ns)
    if measure.stage:
        return _named(measure, _grew(measure.stage, now, before))
    stage = max(now, key=lambda one: now[one] - before.get(one, 0))
    if not now[stage]:
        return None
    return {"stage": stage, "label": LABELS[stage], "words": f"{LABELS[stage]} {_grew(stage, now, before)}."}


def _named(measure: Measure, words: str) -> dict[str, Any]:
    stage = str(measure.stage)
    return {
        "stage": stage, "label": LABELS[stage],
        "words": f"It is time of the stage {LABELS[stage].lower()}" + (f", which {words}." if words else "."),
    }  # fmt: skip


def _grew(stage: str, now: Mapping[str, int], before: Mapping[str, int]) -> str:
    mean = figures.duration(now[stage])
    if not before:
        whole = sum(now.values())
        return f"takes {mean} a run, {figures.percent(now[stage] / whole if whole else None)} of its time"
    then = before.get(stage, 0)
    verb = "grew most" if now[stage] > then else "changed"
    return f"{verb}: {mean} a run, {figures.duration(then)} in the 24 hours before"


def _means(firing: Firing, wanted: RunFilter, now_ns: int) -> dict[str, int]:
    """Mean nanoseconds a run by stage and outside time."""
    try:
        told = summarise(Scope(project_id=firing.project_id), Question(wanted=wanted, kinds=(Items.RUN,)), now_ns).total
    except BadFilter:
        return {}
    runs: RunFigures | None = told.runs if told else None
    return {stage: ns // runs.count for stage, ns in runs.totals_ns.items()} if runs and runs.count else {}


def _moved(wanted: RunFilter, from_ns: int, to_ns: int) -> RunFilter:
    return replace(wanted, from_unix_ns=from_ns, to_unix_ns=to_ns)


def _run_words(run: RunRow) -> str:
    return f"{figures.duration(run.wall_ns)} {run.service or run.name}"


def _project(firing: Firing) -> str:
    return urlencode({"project": firing.project.slug})


def _url(path: str, query: str) -> str:
    return f"{settings.CONFIG.public_url}{path}?{query}"
