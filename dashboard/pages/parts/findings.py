"""What is not as it should be with an instance, in plain words, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard import figures
from ingest.observing.processes import ProcessRow
from ingest.observing.queue import Depth
from ingest.observing.samples import Samples, by_label, total

SILENT_S = 30.0
BEHIND_NS, FAR_BEHIND_NS = 10 * 10**9, 60 * 10**9
DISK_LOW, DISK_VERY_LOW = 0.15, 0.05
ROLES = {
    "receiver": ("bad", "No receiver runs: the OTLP ports do not answer.", "Start it"),
    "worker": ("bad", "No worker runs: spans are kept, but they become no runs.", "Start one"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it should be. ``tone`` is bad or warn."""

    tone: str
    what: str
    advice: str


def findings(
    processes: Sequence[ProcessRow], recent: Samples, depth: Depth, free: tuple[int, int] | None,
    valkey_is_there: bool, worker_silent_s: float | None, clock_silent_s: float | None,
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
    if valkey_is_there and "worker" in alive:
        yield from _of_signs(worker_silent_s, clock_silent_s)
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


def _of_signs(worker_silent_s: float | None, clock_silent_s: float | None) -> Iterator[Finding]:
    """Of workers that run: who does not hear the clock may still be woken by what is received."""
    if worker_silent_s is None or worker_silent_s > SILENT_S:
        yield Finding(
            tone="bad", what="Workers run, but none has swept lately.",
            advice="They may be busy with one huge trace, or nothing reaches them through Valkey.",
        )  # fmt: skip
    elif clock_silent_s is None or clock_silent_s > SILENT_S:
        yield Finding(
            tone="warn", what="No worker hears the clock: sweeps, new days and retention wait for it.",
            advice="Start beat, or a worker with --clock; if one was started, its log says why it ended.",
        )  # fmt: skip


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
