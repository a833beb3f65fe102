"""Announcements: which runs changed, said on the channel layer after their commit. May be lost: pages resync."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings

from ingest.stages.model import Run

log = logging.getLogger(__name__)

IDS_A_MESSAGE = 1_000
BEAT_KEY, BEAT_KEEP_S = "sixstage:worker-beat", 120


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
        try:
            async_to_sync(layer.group_send)(group(project_id), message)
        except (redis.RedisError, OSError) as error:
            log.warning("an announcement was lost: %s", error)


def beat() -> None:
    """Leave the sign by which ``/readyz`` knows that a worker lives."""
    try:
        with redis.Redis.from_url(settings.SIXSTAGE_REDIS_URL, socket_timeout=2) as client:
            client.set(BEAT_KEY, time.time_ns(), ex=BEAT_KEEP_S)
    except (redis.RedisError, OSError) as error:
        log.warning("the worker's sign of life was lost: %s", error)


def beat_age_s(now_ns: int) -> float | None:
    """Seconds since a worker last gave a sign of life; None if it has not lately. Raises redis.RedisError."""
    with redis.Redis.from_url(settings.SIXSTAGE_REDIS_URL, socket_timeout=2) as client:
        told = client.get(BEAT_KEY)
    return None if told is None else (now_ns - int(told)) / 1e9
