"""How our processes speak through the broker: what the app that works and the app that only sends have in common."""

from __future__ import annotations

from typing import Any


def broker_settings(redis_url: str) -> dict[str, Any]:
    """Celery's settings, the same in every process, so that who sends and who listens never disagree."""
    return {
        "broker_url": broker_url(redis_url),
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_default_queue": "sixstage",
        "broker_connection_retry_on_startup": True,
        "broker_transport_options": {
            "socket_timeout": 10,
            "socket_connect_timeout": 2,
            "visibility_timeout": 3600,
        },
        "task_publish_retry": False,
        "timezone": "UTC",
    }


def broker_url(redis_url: str) -> str:
    """Celery's spelling of a Redis URL: ``unix:`` sockets are ``redis+socket:`` there, ``db`` ``virtual_host``."""
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")
