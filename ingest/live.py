"""Announcements: which runs changed, said on the channel layer after their commit. May be lost: pages resync."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache

import redis
from channels.layers import get_channel_layer
from django.conf import settings

from ingest.stages.model import Run

log = logging.getLogger(__name__)

IDS_A_MESSAGE = 1_000  # the newest, of a pass or of what changes in half a second; lists ask again on any message
SAY_WITHIN_S = 5.0
BEAT_KEY, CLOCK_KEY, BEAT_KEEP_S = "sixstage:worker-beat", "sixstage:clock-beat", 120


def group(project_id: int) -> str:
    """The channel group of a project's live pages."""
    return f"live.{project_id}"


def announce(runs: Mapping[int, Sequence[Run]]) -> None:
    """Tell each project's pages which of its runs changed. Never fails: a page that missed it asks again."""
    layer = get_channel_layer()
    if layer is None:
        return
    for project_id, changed in runs.items():
        if not changed:
            continue
        message = {
            "type": "runs.changed", "count": len(changed), "run_ids": [run.run_id for run in changed[-IDS_A_MESSAGE:]],
        }  # fmt: skip
        saying = asyncio.run_coroutine_threadsafe(layer.group_send(group(project_id), message), _loop())
        try:
            saying.result(SAY_WITHIN_S)
        except (redis.RedisError, OSError, TimeoutError) as error:
            saying.cancel()
            log.warning("an announcement was lost: %s", error or "the broker does not answer")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One for all announcements of a process: with it their connection ends, and making both costs as much as fifty
    traces do."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="sixstage-announcer", daemon=True).start()
    return loop


def beat() -> None:
    """Leave the sign by which ``/readyz`` knows that a worker lives."""
    _leave_sign(BEAT_KEY)


def tick() -> None:
    """Leave the sign by which the status page knows that the clock runs and reaches the workers."""
    _leave_sign(CLOCK_KEY)


def beat_age_s(now_ns: int) -> float | None:
    """Seconds since a worker last gave a sign of life; None if it has not lately. Raises redis.RedisError."""
    return _sign_age_s(BEAT_KEY, now_ns)


def tick_age_s(now_ns: int) -> float | None:
    """Seconds since a worker last heard of the clock; None if it has not lately. Raises redis.RedisError."""
    return _sign_age_s(CLOCK_KEY, now_ns)


def _leave_sign(key: str) -> None:
    try:
        _valkey(settings.SIXSTAGE_REDIS_URL).set(key, time.time_ns(), ex=BEAT_KEEP_S)
    except (redis.RedisError, OSError) as error:
        log.warning("a worker's sign of life was lost: %s", error)


def _sign_age_s(key: str, now_ns: int) -> float | None:
    told = _valkey(settings.SIXSTAGE_REDIS_URL).get(key)
    return None if told is None else (now_ns - int(told)) / 1e9


@cache
def _valkey(url: str) -> redis.Redis:
    """Kept: connecting anew for each sign costs ten times the sign. A forked process connects by itself."""
    return redis.Redis.from_url(url, socket_timeout=2)
