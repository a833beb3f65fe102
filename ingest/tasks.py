"""Celery's side of the path. A task carries no data: it says that there is work, and the rows say which."""

from __future__ import annotations

import math
import time

from celery import shared_task
from celery.signals import task_prerun, worker_before_create_process, worker_process_init, worker_process_shutdown
from django.conf import settings
from django.db import close_old_connections, connection

from ingest import collector, compression, joining, leases, live
from ingest.clock import shared_now_ns
from ingest.decomposing import decompose_dirty
from ingest.engines import keeping
from ingest.observing.processes import fold_ended
from ingest.observing.reporter import Reporter
from ingest.observing.settled import count_settled
from ingest.partitions import drop_expired, ensure_partitions
from ingest.rollups.folding import count_all, fold_all
from ingest.rollups.horizon import drop_steps
from ingest.stored import leave_broken_connection

PASS_S = 5.0  # then the worker looks at its queue again
SWEEP_S = 1.9  # a little less than the clock's


@worker_before_create_process.connect
def leave_alone(**_: object) -> None:
    """What the parent of the pool has loaded is never looked at again, neither by it nor by its children: looking
    writes into each object, and each child would come to have a copy of its own."""
    collector.leave_alone()


@worker_process_init.connect
def calm_collector(**_: object) -> None:
    collector.calm()


@worker_process_init.connect
def keep_connection(**_: object) -> None:
    """A connection serves many tasks (see ``dashboard.celery``), so Django must not think it too old for the next.

    Plans are made for each execution: one that was kept from a day's first traces reads whole tables when they have
    grown (measured: 147 us of PostgreSQL's CPU a span instead of 32). Nor are whole tables read where a way leads to
    the rows, however small they are taken for.
    """
    connection.settings_dict["CONN_MAX_AGE"] = None
    connection.settings_dict["OPTIONS"]["options"] = "-c plan_cache_mode=force_custom_plan -c enable_seqscan=off"


@task_prerun.connect
def begin_connected(**_: object) -> None:
    """What the last task left broken is left to it."""
    leave_broken_connection()
    close_old_connections()


_reporters: list[Reporter] = []


@worker_process_init.connect
def report(**_: object) -> None:
    """Each process of the pool tells its own counts: what it inherited from its parent is not its own."""
    reporter = Reporter("worker", settings.SIXSTAGE_DATABASE_URL, settings.SIXSTAGE_REDIS_URL)
    _reporters[:] = [reporter.start()]


@worker_process_shutdown.connect
def report_end(**_: object) -> None:
    for reporter in _reporters:
        reporter.stop()


@shared_task(name="ingest.decompose_traces")
def decompose_traces() -> None:
    """Decompose what is due, pass by pass, until nothing is left or the time is up."""
    until = time.monotonic() + PASS_S
    while time.monotonic() < until:
        _sweep_if_due()
        with collector.put_off():
            done = decompose_dirty(shared_now_ns(), settings.SIXSTAGE_TRACE_IDLE_S * 10**9)
        live.announce(done.runs)
        if not done.more:
            return
    decompose_traces.apply_async(expires=30)


@shared_task(name="ingest.sweep")
def sweep() -> None:
    """Find what no wake-up told of."""
    live.tick()
    keeping.keep_scraping()
    decompose_traces()


def _sweep_if_due() -> None:
    """Say that a worker lives, and look for what is due without a mark that says so.

    Before passes, whoever asked for them: where wake-ups queue up, the task above expires among them unheard.
    """
    global _swept_s
    if time.monotonic() - _swept_s < SWEEP_S:
        return
    _swept_s = time.monotonic()
    live.beat()
    now_ns = shared_now_ns()
    leases.call_back(now_ns)
    joining.look_again(now_ns)


_swept_s = -math.inf


@shared_task(name="ingest.keep_partitions")
def keep_partitions() -> None:
    """Make the next days' partitions; drop expired ones, and short steps of rollups."""
    now_ns = time.time_ns()
    ensure_partitions(now_ns)
    keeping.thin_out(now_ns)
    drop_expired(now_ns, settings.SIXSTAGE_RETENTION_DAYS)
    compression.drop_unused(now_ns, settings.SIXSTAGE_RETENTION_DAYS)
    drop_steps(now_ns, settings.SIXSTAGE_ROLLUP_MINUTE_DAYS, settings.SIXSTAGE_ROLLUP_HOUR_DAYS)


@shared_task(name="ingest.observe")
def observe() -> None:
    """Keep the counts of ended processes, and count the runs that have settled."""
    fold_ended()
    count_settled(time.time_ns())


@shared_task(name="ingest.roll_up")
def roll_up() -> None:
    """Fold what passes have counted into minutes and all longer steps."""
    fold_all()


@shared_task(name="ingest.count_up")
def count_waiting() -> None:
    """Count together what waits to be folded: each reader counts it again as long as it is apart."""
    count_all()


@shared_task(name="ingest.train_dictionaries")
def train_dictionaries() -> None:
    """Learn what projects send again and again, so that it is stored once."""
    compression.train_due(time.time_ns())
