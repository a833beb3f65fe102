"""What the status page shows: the figures of this moment, and findings in plain words."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from dashboard import figures
from dashboard.access import Access
from dashboard.figures import NOT_KNOWN, Figure
from dashboard.pages.parts.refused import read_refused
from ingest import live
from ingest.observing import queue, space
from ingest.observing.processes import ProcessRow, read_processes, recent_of
from ingest.observing.queue import Depth
from ingest.observing.samples import Samples, by_label, quantile, total

SET_ASIDE_SHOWN, TABLES_SHOWN = 50, 8
WORKER_SILENT_S = 30.0
BEHIND_NS, FAR_BEHIND_NS = 10 * 10**9, 60 * 10**9
DISK_LOW, DISK_VERY_LOW = 0.15, 0.05
ROLES = {
    "receiver": ("bad", "No receiver runs: the OTLP ports do not answer.", "Start it"),
    "worker": ("bad", "No worker runs: spans are kept, but they become no runs.", "Start one"),
    "beat": ("warn", "The clock does not run: sweeps, new days and retention wait for it.", "Start beat"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it should be. ``tone`` is bad or warn."""

    tone: str
    what: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A key figure. ``sides`` are smaller figures under it, ``note`` words in their place."""

    name: str
    of: str
    value: Figure
    sides: Sequence[tuple[str, Figure]] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessShown:
    row: ProcessRow
    works: str
    memory: Figure


def read(access: Access) -> dict[str, Any]:
    """Everything that the page shows. What cannot be read now is None and shown as unknown."""
    now_ns = time.time_ns()
    processes, counts = read_processes()
    recent = recent_of(processes)
    depth = queue.read_depth(now_ns)
    sizes, free = space.read_space(), space.disk_free(settings.CONFIG.data_dir)
    valkey_is_there, worker_silent_s = _worker(now_ns)
    dictionaries, newest_ns = space.read_dictionaries(access.project.pk)
    refused_by = _refused_by(counts, recent, access.project.pk)
    return {
        "now_ns": now_ns,
        "findings": list(_findings(processes, recent, depth, free, valkey_is_there, worker_silent_s)),
        "tiles": _tiles(processes, recent, depth, sizes.database_bytes, free),
        "processes": [_shown(process) for process in processes],
        "depth": depth,
        "set_aside": queue.find_set_aside(access.scope, now_ns, SET_ASIDE_SHOWN),
        "refused": read_refused(access.project),
        "refused_by": refused_by,
        "tables": [(name, figures.size(size)) for name, size in list(sizes.tables.items())[:TABLES_SHOWN]],
        "days": [(day, figures.size(size)) for day, size in sizes.days.items()],
        "dictionaries": dictionaries,
        "dictionary_age_ns": None if newest_ns is None else now_ns - newest_ns,
        "valkey_is_there": valkey_is_there,
        "worker_silent_ns": None if worker_silent_s is None else int(worker_silent_s * 1e9),
    }


def tried_again(count: int) -> str:
    return f"{figures.plural(count, 'trace')} will be tried again." if count else "No such trace is set aside any more."


def _worker(now_ns: int) -> tuple[bool, float | None]:
    try:
        return True, live.beat_age_s(now_ns)
    except (redis.RedisError, OSError):
        return False, None


def _findings(
    processes: Sequence[ProcessRow], recent: Samples, depth: Depth, free: tuple[int, int] | None,
    valkey_is_there: bool, worker_silent_s: float | None,
) -> Iterator[Finding]:  # fmt: skip
    if not valkey_is_there:
        yield Finding(
            tone="bad", what="Valkey does not answer: workers are not woken and pages hear of no new run.",
            advice="Start it, or correct SIXSTAGE_REDIS_URL. Nothing is lost meanwhile.",
        )  # fmt: skip
    alive = {process.role for process in processes if process.is_fresh}
    for role, (tone, what, start) in ROLES.items():
        if role not in alive:
            yield Finding(tone=tone, what=what, advice=f"{start}; if it was started, its log says why it ended.")
    stuck = worker_silent_s is None or worker_silent_s > WORKER_SILENT_S
    if valkey_is_there and "worker" in alive and stuck:
        yield Finding(
            tone="bad", what="Workers run, but none has swept lately.",
            advice="They may be busy with one huge trace, or beat does not reach them through Valkey.",
        )  # fmt: skip
    for process in processes:
        if not process.is_fresh:
            yield Finding(
                tone="warn",
                what=f"The {process.role} {process.pid} on {process.host} ended without saying so, "
                f"{figures.duration(process.silent_ns)} ago.",
                advice="It was killed, or cannot reach the database. Was there too little memory?",
            )
    yield from _of_queue(depth)
    refused = total(recent, "sixstage_refused_requests_total")
    if refused:
        reason = next(iter(by_label(recent, "sixstage_refused_requests_total", "reason")))
        yield Finding(
            tone="warn",
            what=f"{figures.plural(round(refused), 'request')} refused in the last minute, most for {reason}.",
            advice="The list below says whose they were.",
        )
    if free is not None and free[0] < DISK_LOW * free[1]:
        yield Finding(
            tone="bad" if free[0] < DISK_VERY_LOW * free[1] else "warn",
            what=f"The disk has {figures.size(free[0])} left of {figures.size(free[1])}.",
            advice="Make room, or lower SIXSTAGE_RETENTION_DAYS: the oldest days are then dropped within the hour.",
        )


def _of_queue(depth: Depth) -> Iterator[Finding]:
    if depth.oldest_age_ns is not None and depth.oldest_age_ns > BEHIND_NS:
        yield Finding(
            tone="bad" if depth.oldest_age_ns > FAR_BEHIND_NS else "warn",
            what=f"Decomposition is behind: {figures.plural(depth.due + depth.claimed, 'trace')} waiting, the oldest "
            f"for {figures.duration(depth.oldest_age_ns)}.",
            advice="Nothing is lost. If it does not shrink by itself, run more workers (SIXSTAGE_WORKERS).",
        )
    if depth.set_aside:
        yield Finding(
            tone="warn",
            what=f"{figures.plural(depth.set_aside, 'trace')} given up after several tries.",
            advice="Their spans are kept. The reasons are below, or in the projects that they belong to.",
        )


def _tiles(
    processes: Sequence[ProcessRow], recent: Samples, depth: Depth, database_bytes: int, free: tuple[int, int] | None
) -> list[Tile]:
    fresh = [process for process in processes if process.is_fresh]
    rates = {
        name: _rate(fresh, f"sixstage_{name}_total", roles)
        for name, roles in (
            ("stored_items", ("web", "receiver")), ("refused_requests", ("web", "receiver")),
            ("written_rows", ("worker",)), ("decomposed_traces", ("worker",)),
        )
    }  # fmt: skip
    spans = _rate(fresh, "sixstage_stored_items_total", ("web", "receiver"), signal="traces")
    return [
        Tile(name="Spans", of="a second", value=_a_second(spans),
             sides=[("all signals", _a_second(rates["stored_items"]))]),
        Tile(name="Refused", of="requests/s", value=_a_second(rates["refused_requests"]),
             sides=[("items", _a_second(_rate(fresh, "sixstage_refused_items_total", ("web", "receiver"))))]),
        _quantiles("Answer", "p95", recent, "sixstage_ack_seconds"),
        _quantiles("Receive to visible", "p95", recent, "sixstage_visible_lag_seconds"),
        Tile(name="Queue", of="traces", value=figures.count(depth.claimed + depth.due + depth.retrying),
             sides=[("oldest", figures.duration(depth.oldest_age_ns))] if depth.oldest_age_ns is not None else (),
             note="" if depth.oldest_age_ns is not None else "none overdue"),
        Tile(name="Rows written", of="a second", value=_a_second(rates["written_rows"]),
             sides=[("traces", _a_second(rates["decomposed_traces"]))]),
        Tile(name="Database", of="", value=figures.size(database_bytes)),
        Tile(name="Disk free", of="", value=figures.size(free[0]) if free else NOT_KNOWN,
             sides=[("of", figures.size(free[1]))] if free else ()),
    ]  # fmt: skip


def _quantiles(name: str, of: str, recent: Samples, histogram: str) -> Tile:
    p50, p95, p99 = (_seconds(quantile(recent, histogram, q)) for q in (0.5, 0.95, 0.99))
    return Tile(
        name=name, of=of, value=p95, sides=[] if p95 == NOT_KNOWN else [("p50", p50), ("p99", p99)],
        note="none in the last minute" if p95 == NOT_KNOWN else "",
    )  # fmt: skip


def _seconds(seconds: float | None) -> Figure:
    return NOT_KNOWN if seconds is None else figures.duration(int(seconds * 1e9))


def _rate(processes: Sequence[ProcessRow], name: str, roles: tuple[str, ...], **labels: str) -> float | None:
    """The sum over these processes; unknown where none of them speaks."""
    rates = [
        rate
        for process in processes
        if process.role in roles and (rate := process.a_second(total(process.recent, name, **labels))) is not None
    ]
    return sum(rates) if rates else None


def _a_second(rate: float | None) -> Figure:
    if rate is None:
        return NOT_KNOWN
    return Figure(f"{rate:.1f}") if 0 < rate < 9.95 else figures.count(round(rate))


def _shown(process: ProcessRow) -> ProcessShown:
    works = ""
    if process.role in ("web", "receiver"):
        works = f"{_a_second(_rate([process], 'sixstage_stored_items_total', (process.role,)))} items/s"
    elif process.role == "worker":
        works = f"{_a_second(_rate([process], 'sixstage_decomposed_traces_total', ('worker',)))} traces/s"
    memory = NOT_KNOWN if process.rss_bytes is None else figures.size(process.rss_bytes)
    return ProcessShown(row=process, works=works, memory=memory)


def _refused_by(counts: Samples, recent: Samples, project_id: int) -> list[tuple[str, str, Figure, Figure]]:
    """Reason, what, how many ever and in the last minute: of this project and of unknown senders."""
    rows = []
    for name, what in (("sixstage_refused_requests_total", "requests"), ("sixstage_refused_items_total", "items")):
        ever, lately = (
            {
                reason: sum(total(samples, name, reason=reason, project=project) for project in _projects(project_id))
                for reason in by_label(counts, name, "reason")
            }
            for samples in (counts, recent)
        )
        rows += [
            (reason, what, figures.count(round(number)), figures.count(round(lately[reason])))
            for reason, number in ever.items()
            if number
        ]
    return rows


def _projects(project_id: int) -> tuple[str, str]:
    return str(project_id), "unknown"
