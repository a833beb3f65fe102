"""Simulated traffic at the press of a button: the demo as a process of its own, one at a time and for a minute."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from pathlib import Path

import redis
from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent
SECONDS, RATE_A_MINUTE = 60, 60
KILLED_AFTER_S = SECONDS + 60
RUNNING_KEY = "sixstage:demo-traffic"


class DemoRefused(Exception):
    """It was not started; the message says why."""


def may_start() -> bool:
    """An open instance alone takes spans without a key, and has nobody else's figures to spoil."""
    return bool(settings.SIXSTAGE_OPEN)


def is_running() -> bool:
    try:
        with _valkey() as client:
            return client.exists(RUNNING_KEY) == 1
    except (redis.RedisError, OSError):
        return False


def start() -> subprocess.Popen[bytes]:
    """Raises DemoRefused."""
    if not may_start():
        raise DemoRefused("this instance wants ingest keys: run make demo with SIXSTAGE_INGEST_KEY set to one")
    try:
        with _valkey() as client:
            if not client.set(RUNNING_KEY, os.getpid(), nx=True, ex=KILLED_AFTER_S):
                raise DemoRefused("it runs already, for a minute at most")
    except (redis.RedisError, OSError) as error:
        raise DemoRefused("Valkey does not answer, so nobody knows whether it runs already") from error
    process = subprocess.Popen(
        [sys.executable, "-m", "agents.demo", "--endpoint", _endpoint(), "--seconds", str(SECONDS),
         "--rate", str(RATE_A_MINUTE), "--speed", "2"],
        cwd=ROOT, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    atexit.register(process.terminate)
    threading.Thread(target=_watch, args=(process,), name="sixstage-demo-watch", daemon=True).start()
    return process


def _watch(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(KILLED_AFTER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    atexit.unregister(process.terminate)
    try:
        with _valkey() as client:
            client.delete(RUNNING_KEY)
    except (redis.RedisError, OSError):
        return  # it expires by itself


def _endpoint() -> str:
    config = settings.CONFIG
    host = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host
    return f"http://{f'[{host}]' if ':' in host else host}:{config.otlp_http_port}"


def _environment() -> dict[str, str]:
    """Ours, without what would lead it elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return kept | {"SIXSTAGE_PORT": str(settings.CONFIG.port)}


def _valkey() -> redis.Redis:
    return redis.Redis.from_url(settings.SIXSTAGE_REDIS_URL, socket_timeout=2)
