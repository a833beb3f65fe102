"""Is it alive, and is it ready? Open to strangers: load balancers have no key."""

from __future__ import annotations

import time
from collections.abc import Callable

import redis
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from dashboard.access import public
from ingest import live
from ingest.pressure import DATABASE_BYTES, configured_bounds, database_trouble, disk_trouble

WORKER_SILENT_S = 30.0


@public
def healthz(_request: HttpRequest) -> JsonResponse:
    """The web process answers."""
    return JsonResponse({"status": "ok"})


@public
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when database, migrations, broker, a worker and disk space are there; else 503 with what is missing."""
    checks = {
        "database": _database, "migrations": _migrations, "broker": _broker, "worker": _worker, "disk": _disk,
    }  # fmt: skip
    troubles = {name: why for name, check in checks.items() if (why := _ask(check))}
    answer = {"status": "waiting" if troubles else "ready"} | {name: troubles.get(name, "ok") for name in checks}
    response = JsonResponse(answer, status=503 if troubles else 200)
    response._has_been_logged = True  # Django logs every 5xx as an error; waiting is none
    return response


def _ask(check: Callable[[], str | None]) -> str | None:
    try:
        return check()
    except (DatabaseError, redis.RedisError, OSError) as error:
        return f"not reachable: {type(error).__name__}"


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _migrations() -> str | None:
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(waiting)} to be applied: run manage.py migrate" if waiting else None


def _disk() -> str | None:
    """What makes receivers refuse: too little space left, or a database over its limit."""
    bounds = configured_bounds()
    if (why := disk_trouble(bounds)) or not bounds.max_database_bytes:
        return why
    with connection.cursor() as cursor:
        cursor.execute(DATABASE_BYTES)
        return database_trouble(bounds, int(cursor.fetchone()[0]))


def _broker() -> None:
    live.beat_age_s(time.time_ns())


def _worker() -> str | None:
    age_s = live.beat_age_s(time.time_ns())
    if age_s is None or age_s > WORKER_SILENT_S:
        return "no worker has given a sign of life" if age_s is None else f"the last sign of life is {age_s:.0f} s old"
    return None
