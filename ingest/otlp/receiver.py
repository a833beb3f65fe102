"""One export request from bytes to its answer, the same for HTTP and gRPC and for every signal."""

from __future__ import annotations

import asyncio
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
from ingest.otlp.keys import Keys, Rules
from ingest.otlp.quotas import Quotas
from ingest.otlp.reading import ReadingRoom
from ingest.otlp.requests import Refusals
from ingest.otlp.split import Remainder, TracePart, split_logs, split_traces, whole_metrics
from ingest.otlp.trimming import Trimming
from ingest.pressure import Bounds, Pressure, configured_bounds
from ingest.store import Store
from ingest.wake import Waker

log = logging.getLogger(__name__)

SAID_AGAIN_AFTER_S = 60.0


@dataclass(slots=True)
class Receiver:
    """Decodes, stores, answers. ``counts`` says how many items were taken and how many refused, by reason."""

    store: Store
    keys: Keys
    pressure: Pressure = field(default_factory=lambda: Pressure(Bounds()))
    quotas: Quotas = field(default_factory=Quotas)
    reading: ReadingRoom = field(default_factory=lambda: ReadingRoom(settings.SIXSTAGE_READING_LIMIT_BYTES))
    counts: Counter[str] = field(default_factory=Counter)
    _said: OrderedDict[str, float] = field(default_factory=OrderedDict)

    async def export(self, signal: Signal, data: bytes, as_json: bool, headers: Mapping[str, str]) -> Any:
        """The export response for a decompressed body. Returns after the commit; raises IngestError."""
        rules = await self.keys.rules_of(headers)
        self.admit(rules)
        refusals = Refusals()
        parts, rest = self._parts(signal, data, as_json, rules, refusals)
        del data  # it need not live until the commit
        items = sum(part.items for part in parts) + (rest.items if rest else 0)
        size = sum(len(part.content) for part in parts) + (len(rest.content) if rest else 0)
        self.quotas.spend(rules, items, size)
        try:
            await self.store.keep(rules.project_id, parts, rest)
        except IngestError:
            self.quotas.give_back(rules, items, size)
            raise
        self.counts["taken"] += items
        if refusals.count:
            self.counts["refused"] += refusals.count
            self._say(f"{signal.label.lower()}: {refusals.sentence()}")
        return replies.success(signal, refusals)

    def admit(self, rules: Rules) -> None:
        """Raises IngestError where nothing of a project with these rules may be taken now."""
        self.pressure.admit()
        self.quotas.admit(rules)

    def _parts(
        self, signal: Signal, data: bytes, as_json: bool, rules: Rules, refusals: Refusals
    ) -> tuple[list[TracePart], Remainder | None]:
        parse = json_form.parse_json if as_json else requests.parse_protobuf
        request: Any = parse(signal, data, refusals)
        if data and not as_json and not requests.meaningful(signal, request):
            requests.refuse_other_signal(signal, data)
        trimming = Trimming(settings.SIXSTAGE_MAX_ATTRIBUTE_BYTES, rules.keep_payload)
        trimming.strip(request)
        if signal == Signal.TRACES:
            as_sent = not as_json and not refusals.rebuilt and rules.keep_payload
            return split_traces(request, refusals, trimming, data if as_sent else None), None
        if signal == Signal.LOGS:
            return split_logs(request, trimming)
        return [], whole_metrics(request)

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
        receiver = Receiver(store, Keys(store.pool, settings.SIXSTAGE_OPEN), Pressure(configured_bounds()))
        beside = [
            asyncio.create_task(receiver.pressure.watch(store.pool)),
            asyncio.create_task(receiver.quotas.share_forever(store.pool)),
        ]
        try:
            yield receiver
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
