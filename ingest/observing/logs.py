"""Log lines that a machine can read: one JSON object each, with the request they belong to.

The request's id and project are context, so they are on every line written while it is answered. Trace ids come as
``extra={"trace_id": …}`` from whoever knows them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime

EXTRAS = ("trace_id", "project")
GIVEN_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
_role = "sixstage"


def set_role(role: str) -> None:
    """Name this process in its lines: web, receiver, worker, beat."""
    global _role
    _role = role


def choose_request_id(given: str | None) -> str:
    """The client's own ``x-request-id`` where it is harmless in a header and a log, else a new one."""
    return given if given and GIVEN_ID.fullmatch(given) else secrets.token_hex(16)


class JsonLines(logging.Formatter):
    """``{"time": …, "level": …, "logger": …, "message": …, "process": …}`` and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": _role,
            "pid": os.getpid(),
        }
        if (its := request_id.get()) is not None:
            told["request_id"] = its
        told |= {name: value for name in EXTRAS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """For people at a terminal; the request's id and project stand at the end where they are known."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802, logging's own name
        known = [f"{name}={value}" for name in EXTRAS if (value := getattr(record, name, None)) is not None]
        if (its := request_id.get()) is not None:
            known.append(f"request_id={its}")
        return super().formatMessage(record) + (f" [{' '.join(known)}]" if known else "")
