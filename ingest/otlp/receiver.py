"""One export request from bytes to its answer, the same for HTTP and gRPC and for every signal."""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from ingest.models.telemetry import Signal
from ingest.otlp import json_form, replies, requests
from ingest.otlp.errors import IngestError
from ingest.otlp.keys import Keys
from ingest.otlp.requests import Refusals
from ingest.otlp.split import split_logs, split_traces, whole_metrics
from ingest.store import Store
from ingest.wake import Waker

log = logging.getLogger(__name__)

SAID_AGAIN_AFTER_S = 60.0


@dataclass(slots=True)
class Receiver:
    """Decodes, stores, answers. ``counts`` says how many items were taken and how many refused, by reason."""

    store: Store
    keys: Keys
    counts: Counter[str] = field(default_factory=Counter)
    _said: OrderedDict[str, float] = field(default_factory=OrderedDict)

    async def export(self, signal: Signal, data: bytes, as_json: bool, headers: Mapping[str, str]) -> Any:
        """The export response for a decompressed body. Returns after the commit; raises IngestError."""
        project_id = await self.keys.project_of(headers)
        refusals = Refusals()
        parse = json_form.parse_json if as_json else requests.parse_protobuf
        request: Any = parse(signal, data, refusals)
        if data and not as_json and not requests.meaningful(signal, request):
            requests.refuse_other_signal(signal, data)
        if signal == Signal.TRACES:
            parts, rest = split_traces(request, refusals), None
        elif signal == Signal.LOGS:
            parts, rest = split_logs(request)
        else:
            parts, rest = [], whole_metrics(request)
        await self.store.keep(project_id, parts, rest)
        self.counts["taken"] += sum(part.items for part in parts) + (rest.items if rest else 0)
        if refusals.count:
            self.counts["refused"] += refusals.count
            self._say(f"{signal.label.lower()}: {refusals.sentence()}")
        return replies.success(signal, refusals)

    def note_refusal(self, error: IngestError, what: str) -> None:
        self.counts[error.reason] += 1
        self._say(f"{what}: {error.status} {error}")

    def _say(self, text: str) -> None:
        """Log a refusal once a minute at most, so that a broken client does not fill the log."""
        now = time.monotonic()
        if now - self._said.get(text, -SAID_AGAIN_AFTER_S) < SAID_AGAIN_AFTER_S:
            return
        self._said[text] = now
        while len(self._said) > 200:
            self._said.popitem(last=False)
        log.warning("refused %s", text)


@asynccontextmanager
async def open_receiver() -> AsyncIterator[Receiver]:
    """A receiver with its store, for as long as a process serves."""
    waker = Waker()
    store = Store(settings.SIXSTAGE_DATABASE_URL, settings.SIXSTAGE_PENDING_LIMIT_BYTES, waker.wake)
    async with store:
        waker.wake()  # the first costs a second of imports and connecting, which no run should wait for
        yield Receiver(store, Keys(store.pool, settings.SIXSTAGE_OPEN))
