"""An engine's scrapes as the store has them, for those who ask about engines: counters that grow, a queue, failures."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field

from ingest.engines.kept import fold
from ingest.engines.layout import Key, make_layout
from ingest.engines.names import METRICS, Type
from ingest.engines.store import day_of
from ingest.models import EngineFailure, EngineLayout, EngineSample, EngineTarget
from ingest.partitions import ensure_partitions

DAY_NS = 86_400 * 10**9
BOUNDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)  # seconds
LAYOUT = make_layout("vllm", [
    *((Key(name, "m"), ()) for name in ("waiting", "prefix_hits", "prefix_queries", "finished", "preemptions")),
    *((Key(name, "m"), BOUNDS) for name in ("ttft", "queue", "tpot")),
    (Key("prompt_length", "m"), (500.0, 2_000.0, math.inf)),
])  # fmt: skip


@dataclass
class DrawnEngine:
    """Each scrape tells of requests since the last one. ``keep`` writes what was drawn."""

    target: EngineTarget
    _values: array[float] = field(default_factory=lambda: array("d", [0.0] * LAYOUT.width))
    _stretch: int = 1
    _breaks: str = ""
    _scrapes: list[EngineSample] = field(default_factory=list)
    _failed: list[int] = field(default_factory=list)

    def scrape(
        self, at_ns: int, *, requests: int = 0, ttft_s: float = 0.3, waiting: float = 0.0, prompt_tokens: int = 1_000,
        hit_rate: float = 0.5, queue_s: float = 0.01, tpot_s: float = 0.02, preemptions: int = 0,
    ) -> None:  # fmt: skip
        told = {
            "waiting": waiting, "prefix_queries": requests * prompt_tokens, "finished": requests,
            "prefix_hits": requests * prompt_tokens * hit_rate, "preemptions": preemptions, "ttft": ttft_s,
            "queue": queue_s, "tpot": tpot_s, "prompt_length": prompt_tokens,
        }  # fmt: skip
        for slot in LAYOUT.slots:
            value, kind = told[slot.key.metric], METRICS[slot.key.metric].type
            if kind is Type.GAUGE:
                self._values[slot.at] = value
            elif kind is Type.COUNTER:
                self._values[slot.at] += value
            else:
                more = [*(requests * (value <= bound) for bound in slot.bounds), requests * value, requests]
                for at, count in enumerate(more, slot.at):
                    self._values[at] += count
        self._scrapes.append(EngineSample(
            at_unix_ns=at_ns, day=day_of(at_ns), stretch=self._stretch, took_ms=1, running=1.0, waiting=waiting,
            kv_usage=None, breaks=self._breaks, body=fold(self._values), project_id=self.target.project_id,
            target_id=self.target.pk,
        ))  # fmt: skip
        self._breaks = ""

    def restart(self) -> None:
        """Before the next scrape: all counts begin at nought again."""
        self._values, self._stretch, self._breaks = array("d", [0.0] * LAYOUT.width), self._stretch + 1, "reset"

    def fail(self, at_ns: int) -> None:
        self._failed.append(at_ns)

    def keep(self) -> None:
        for midnight in {at // DAY_NS * DAY_NS for at in (*self._failed, *(s.at_unix_ns for s in self._scrapes))}:
            ensure_partitions(midnight)
        layout, _ = EngineLayout.objects.get_or_create(digest=LAYOUT.digest, defaults={"body": LAYOUT.as_json()})
        for scrape in self._scrapes:
            scrape.layout_id = layout.pk
        EngineSample.objects.bulk_create(self._scrapes)
        EngineFailure.objects.bulk_create(
            EngineFailure(
                at_unix_ns=at, day=day_of(at), took_ms=3_000, reason="refused", detail="nobody answers there",
                project_id=self.target.project_id, target_id=self.target.pk,
            )
            for at in self._failed
        )  # fmt: skip
        self._scrapes.clear()
        self._failed.clear()
