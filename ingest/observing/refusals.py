"""The last refused requests, for "why does my data not show". Equal ones are one entry with a count.

Collected in memory, bounded, and moved to Valkey every few seconds. They may be lost: counters are the durable
record. Never holds anything of a body: sentences that quote one are cut before it.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any

import redis

KEPT = 200
KEPT_S = 7 * 86_400
INDEX = "sixstage:refused"
SENTENCE_MOST = 300
# The reasons that were found in a body; the other sentences speak of heads, paths and ourselves.
OF_BODY = {"bad_data", "nothing_read", "undecodable", "invalid", "bad_trace_id", "bad_span_id"}
# Where a decoder's or the database's own words follow, which may quote what was sent.
QUOTING = re.compile(
    r"(?P<kept>cannot be read|cannot be decompressed|is not JSON|refuses this batch):(?! \w+ must be ).*"
    r"| but .*(?=; keys are lowerCamelCase)"
)
QUOTED = re.compile(r"'.*'|\".*\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What makes two refused requests the same. ``key`` is only its beginning; ``way`` a path or gRPC service."""

    project_id: int | None
    key: str
    reason: str
    client: str
    agent: str
    way: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A refusal with how often and when it happened. ``items`` counts spans left out of accepted requests."""

    refusal: Refusal
    sentence: str
    requests: int
    items: int
    first_unix_ns: int
    last_unix_ns: int


def without_payload(sentence: str) -> str:
    """A refusal's sentence without what it may quote of the body."""
    return QUOTED.sub("…", QUOTING.sub(lambda found: found["kept"] or "", sentence))


class Refused:
    """This process's refusals that Valkey has not heard of yet; at most KEPT, the oldest are forgotten."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Refusal, list[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, refusal: Refusal, sentence: str, items: int = 0, requests: int = 1) -> None:
        now_ns = time.time_ns()
        with self._lock:
            told = self._waiting.setdefault(refusal, ["", 0, 0, now_ns, now_ns])
            told[0] = (without_payload(sentence) if refusal.reason in OF_BODY else sentence)[:SENTENCE_MOST]
            told[1] += requests
            told[2] += items
            told[4] = now_ns
            self._waiting.move_to_end(refusal)
            while len(self._waiting) > KEPT:
                self._waiting.popitem(last=False)

    def take(self) -> list[Seen]:
        with self._lock:
            waiting, self._waiting = self._waiting, OrderedDict()
        return [
            Seen(refusal=refusal, sentence=told[0], requests=told[1], items=told[2], first_unix_ns=told[3],
                 last_unix_ns=told[4])
            for refusal, told in waiting.items()
        ]  # fmt: skip


REFUSED = Refused()


def _name(refusal: Refusal) -> str:
    told = json.dumps(asdict(refusal), sort_keys=True)
    return f"{INDEX}:{hashlib.blake2b(told.encode(), digest_size=12).hexdigest()}"


def keep(client: redis.Redis, seen: list[Seen]) -> None:
    """Add what was seen to what Valkey holds, and forget all but the last KEPT. Raises redis.RedisError."""
    if not seen:
        return
    with client.pipeline(transaction=False) as pipe:
        for one in seen:
            name = _name(one.refusal)
            pipe.hset(name, mapping={
                "refusal": json.dumps(asdict(one.refusal)), "sentence": one.sentence, "last": one.last_unix_ns,
            })  # fmt: skip
            pipe.hsetnx(name, "first", one.first_unix_ns)
            pipe.hincrby(name, "requests", one.requests)
            pipe.hincrby(name, "items", one.items)
            pipe.expire(name, KEPT_S)
            pipe.zadd(INDEX, {name: one.last_unix_ns / 1e9})
        pipe.zrange(INDEX, 0, -KEPT - 1)
        forgotten = pipe.execute()[-1]
        if forgotten:
            pipe.delete(*forgotten)
            pipe.zrem(INDEX, *forgotten)
            pipe.execute()


def last(client: redis.Redis, most: int = KEPT) -> list[Seen]:
    """The last refusals, newest first. Raises redis.RedisError."""
    names = client.zrevrange(INDEX, 0, most - 1)
    with client.pipeline(transaction=False) as pipe:
        for name in names:
            pipe.hgetall(name)
        rows = pipe.execute()
    return [_read(row) for row in rows if b"refusal" in row]


def _read(row: dict[bytes, bytes]) -> Seen:
    return Seen(
        refusal=Refusal(**json.loads(row[b"refusal"])), sentence=row[b"sentence"].decode(),
        requests=int(row.get(b"requests", 0)), items=int(row.get(b"items", 0)),
        first_unix_ns=int(row.get(b"first", 0)), last_unix_ns=int(row[b"last"]),
    )  # fmt: skip
