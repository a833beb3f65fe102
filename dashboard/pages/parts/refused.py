"""The last refused requests as the pages show them: who sent, why it was refused, what to do."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from django.conf import settings

from dashboard.pages.parts.safetext import visible
from ingest.models.project import IngestKey, Project
from ingest.observing import refusals
from ingest.observing.refusals import Seen

SHOWN = 30
ADVICE = {
    "no_key": "Send a key of this page, whole and not revoked.",
    "forbidden": "Address this instance by a name in SIXSTAGE_ALLOWED_HOSTS.",
    "too_large": "Let the exporter send smaller batches.",
    "unsupported_type": "Send protobuf or JSON, as OTLP over HTTP.",
    "wrong_method": "Send with POST.",
    "not_found": "Correct the path: most SDKs add /v1/traces to the endpoint themselves.",
    "overloaded": "Nothing is lost while the client retries. Is the database slow, or the disk full?",
    "too_slow": "The body came too slowly or stopped. Is the network between slow, or the batch very large?",
    "over_limit": "The project is over its limits, which stand on the settings page. Nothing is lost while it retries.",
    "behind": "Too much waits to be decomposed: run more workers. Nothing is lost while the client retries.",
    "no_room": "The disk is nearly full: make room, or keep fewer days. Nothing is lost while the client retries.",
    "store_unavailable": "Nothing is lost while the client retries. Is PostgreSQL running?",
    "internal": "A fault of ours: the log of web or receiver has the exception.",
    "client_gone": "The client gave up: its timeout is too short, or the network between is slow.",
    "bad_data": "The sender's encoding is broken, or something on the way changed the body.",
    "bad_trace_id": "Trace ids are 16 bytes, in JSON 32 hex digits.",
    "bad_span_id": "Span ids are 8 bytes, in JSON 16 hex digits.",
    "undecodable": "The other spans were stored. Look for text that is not UTF-8 in attributes.",
    "nothing_read": "The body was empty to us: in OTLP/JSON keys are lowerCamelCase.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """``whose`` is a key's name and beginning, or what is known instead. ``own`` when it is this project's."""

    seen: Seen
    whose: str
    own: bool
    agent: str
    way: str
    sentence: str
    advice: str


def read_refused(project: Project) -> list[RefusedRow] | None:
    """The last refused requests of this project and of nobody known, newest first. None while Valkey is away."""
    try:
        with redis.Redis.from_url(settings.SIXSTAGE_REDIS_URL, socket_timeout=2) as client:
            seen = refusals.last(client)
    except (redis.RedisError, OSError):
        return None
    names = {key.hint: key.name for key in IngestKey.objects.filter(project=project)}
    mine = [one for one in seen if one.refusal.project_id in (None, project.pk)][:SHOWN]
    return [_row(one, names) for one in mine]


def _row(seen: Seen, names: dict[str, str]) -> RefusedRow:
    refusal = seen.refusal
    return RefusedRow(
        seen=seen, whose=_whose(refusal.key, names, known=refusal.project_id is not None),
        own=refusal.project_id is not None, agent=visible(refusal.agent), way=visible(refusal.way),
        sentence=visible(seen.sentence), advice=ADVICE.get(refusal.reason, ""),
    )  # fmt: skip


def _whose(key: str, names: dict[str, str], *, known: bool) -> str:
    if key in names:
        return f"{names[key]} ({key}…)" if known else f"unknown key {key}…, like {names[key]}; is it revoked or cut?"
    if key.startswith("sxr_"):
        return f"read token {key}…, which cannot send"
    if key == "foreign":
        return "a key that is not ours"
    if key:
        return f"unknown key {key}…"
    return "no key"
