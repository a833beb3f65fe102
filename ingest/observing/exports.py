"""One export request as far as it is known, from its head to its answer: what is counted and, if refused, kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache

from prometheus_client import Counter, Histogram

from ingest.models.telemetry import Signal
from ingest.observing import measures
from ingest.observing.refusals import REFUSED, Refusal
from ingest.otlp.keys import secret_in

HINT_CHARACTERS = 8  # the kind and four more, as the settings page shows a key
OURS = ("sxi_", "sxr_")
UNKNOWN = "unknown"


class Export:
    """Counts itself when it is answered. ``project_id`` stays None until its key is known to be good."""

    __slots__ = ("agent", "began", "client", "key", "project_id", "refused_items", "remark", "signal", "size", "way")

    def __init__(self, signal: Signal | None, way: str, headers: Mapping[str, str], client: str) -> None:
        self.began = time.perf_counter()
        self.signal = signal.label.lower() if signal is not None else UNKNOWN
        self.way = way
        self.agent = headers.get("user-agent", "")
        self.client = client
        self.key = key_hint(headers)
        self.project_id: int | None = None
        self.size = 0
        self.refused_items: Mapping[str, int] = {}
        self.remark = ""

    def came(self, body: bytes) -> bytes:
        """The body as it came over the wire, which is only measured here."""
        self.size = len(body)
        return body

    def accepted(self) -> None:
        """The answer was success, perhaps a partial one."""
        requests, size, ack = _counters(self.signal, str(self.project_id))
        requests.inc()
        size.inc(self.size)
        ack.observe(time.perf_counter() - self.began)
        for reason, count in self.refused_items.items():
            measures.REFUSED_ITEMS.labels(self.signal, str(self.project_id), self.key, reason).inc(count)
            self._keep(reason, self.remark, count)
        if self.remark and not self.refused_items:
            self._keep("nothing_read", self.remark, 0)

    def refused(self, reason: str, sentence: str) -> None:
        """The answer was an error."""
        project = UNKNOWN if self.project_id is None else str(self.project_id)
        # Whoever has no good key may write anything there: only a good one becomes a label.
        key = self.key if self.project_id is not None else ""
        measures.RECEIVED_REQUESTS.labels(self.signal, project).inc()
        measures.REFUSED_REQUESTS.labels(self.signal, project, key, reason).inc()
        self._keep(reason, sentence, 0)

    def _keep(self, reason: str, sentence: str, items: int) -> None:
        REFUSED.note(
            Refusal(
                project_id=self.project_id, key=self.key, reason=reason, client=self.client, agent=self.agent[:120],
                way=self.way[:120],
            ),
            sentence, items,
        )  # fmt: skip


@lru_cache(maxsize=1024)
def _counters(signal: str, project: str) -> tuple[Counter, Counter, Histogram]:
    """The counters of every request: finding one by its labels costs more than counting."""
    return (
        measures.RECEIVED_REQUESTS.labels(signal, project),
        measures.RECEIVED_BYTES.labels(signal, project),
        measures.ACK_SECONDS.labels(signal),
    )


current: ContextVar[Export | None] = ContextVar("export", default=None)


def left_out(reasons: Mapping[str, int], sentence: str) -> None:
    """Called where a partial success is worded: what of the current request was left out, by code."""
    export = current.get()
    if export is not None:
        export.refused_items, export.remark = reasons, sentence


def key_hint(headers: Mapping[str, str]) -> str:
    """As much of a key as may be shown; nothing of one that is not ours, which may be another product's secret."""
    secret = secret_in(headers)
    if not secret:
        return ""
    return secret[:HINT_CHARACTERS] if secret.startswith(OURS) else "foreign"
