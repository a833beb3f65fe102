"""An engine's scrapes as the store has them, for those who ask about engines: counters that grow, a queue, failures."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field

from ingest.engines.kept import fold
from ingest.engines.layout import Key, make_layout
from ingest.engines.store import day_of
from ingest.models import EngineFailure, EngineLayout, EngineSample, EngineTarget
from ingest.partitions import ensure_partitions

DAY_NS = 86_400 * 10**9
BOUNDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)  # seconds
LAYOUT = make_layout("vllm", [
    (Key("waiting", "m"), ()), (Key("prefix_hits", "m"), ()), (Key("prefix_queries", "m"), ()),
    (Key("ttft", "m"), BOUNDS),
])  # fmt: skip


@dataclass
class DrawnEngine:
    """Each scrape tells of requests since the last one. ``keep`` writes what was drawn."""

    target: EngineTarget
    _counted: dict[str, float] = field(default_factory=dict)
    _buckets: list[float] = field(default_factory=lambda: [0.0] * len(BOUNDS))
    _scrapes: list[tuple[int, float, bytes]] = field(default_factory=list)
    _failed: list[int] = field(default_factory=list)

    def scrape(
        self, at_ns: int, *, requests: int = 0, ttft_s: float = 0.3, waiting: float = 0.0, prompt_tokens: int = 1_000,
        hit_rate: float = 0.5,
    ) -> None:  # fmt: skip
        self._count("prefix_queries", requests * prompt_tokens)
        self._count("prefix_hits", requests * prompt_tokens * hit_rate)
        self._count("ttft sum", requests * ttft_s)
        self._count("ttft count", requests)
        self._buckets = [had + requests * (ttft_s <= bound) for had, bound in zip(self._buckets, BOUNDS, strict=True)]
        self._scrapes.append((at_ns, waiting, self._body(waiting)))

    def fail(self, at_ns: int) -> None:
        self._failed.append(at_ns)

    def keep(self) -> None:
        for midnight in {at // DAY_NS * DAY_NS for at in (*self._failed, *(at for at, _, _ in self._scrapes))}:
            ensure_partitions(midnight)
        of = {"project_id": self.target.project_id, "target_id": self.target.pk}
        layout, _ = EngineLayout.objects.get_or_create(digest=LAYOUT.digest, defaults={"body": LAYOUT.as_json()})
        EngineSample.objects.bulk_create(
            EngineSample(
                at_unix_ns=at, day=day_of(at), layout_id=layout.pk, stretch=1, took_ms=1, running=1.0, waiting=waiting,
                kv_usage=None, breaks="", body=body, **of,
            )
            for at, waiting, body in self._scrapes
        )  # fmt: skip
        EngineFailure.objects.bulk_create(
            EngineFailure(
                at_unix_ns=at, day=day_of(at), took_ms=3_000, reason="refused", detail="nobody answers there", **of
            )
            for at in self._failed
        )  # fmt: skip
        self._scrapes.clear()
        self._failed.clear()

    def _count(self, name: str, more: float) -> None:
        self._counted[name] = self._counted.get(name, 0.0) + more

    def _body(self, waiting: float) -> bytes:
        values = array("d", [0.0] * LAYOUT.width)
        spread = [*self._buckets, self._counted["ttft sum"], self._counted["ttft count"]]
        for slot in LAYOUT.slots:
            name = slot.key.metric
            told = spread if name == "ttft" else [waiting if name == "waiting" else self._counted[name]]
            values[slot.at : slot.at + len(told)] = array("d", told)
        return fold(values)
