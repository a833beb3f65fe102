"""What the status page shows: the figures of this moment, and findings in plain words."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from dashboard import figures
from dashboard.access import Access
from dashboard.figures import NOT_KNOWN, Figure
from dashboard.pages.parts.findings import findings
from dashboard.pages.parts.refused import read_refused
from dashboard.pages.parts.tiles import a_second, rate, tiles
from ingest import live
from ingest.observing import queue, space
from ingest.observing.processes import ProcessRow, read_processes, recent_of
from ingest.observing.samples import Samples, by_label, total

SET_ASIDE_SHOWN, TABLES_SHOWN = 50, 8


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
    valkey_is_there, worker_silent_s, clock_silent_s = _signs(now_ns)
    dictionaries, newest_ns = space.read_dictionaries(access.project.pk)
    refused_by = _refused_by(counts, recent, access.project.pk)
    return {
        "now_ns": now_ns,
        "findings": list(findings(processes, recent, depth, free, valkey_is_there, worker_silent_s, clock_silent_s)),
        "tiles": tiles(processes, recent, depth, sizes.database_bytes, free),
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


def _signs(now_ns: int) -> tuple[bool, float | None, float | None]:
    """Whether Valkey answers, and for how many seconds it has known of no worker, and of no clock."""
    try:
        return True, live.beat_age_s(now_ns), live.tick_age_s(now_ns)
    except (redis.RedisError, OSError):
        return False, None, None


def _shown(process: ProcessRow) -> ProcessShown:
    works = ""
    if process.role in ("web", "receiver"):
        works = f"{a_second(rate([process], 'sixstage_stored_items_total', (process.role,)))} items/s"
    elif process.role == "worker":
        works = f"{a_second(rate([process], 'sixstage_decomposed_traces_total', ('worker',)))} traces/s"
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
