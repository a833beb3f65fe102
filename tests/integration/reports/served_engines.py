"""Weeks of an engine that is scraped once an hour, for reports that compare them."""

from __future__ import annotations

import random
from collections.abc import Collection
from zoneinfo import ZoneInfo

from dashboard.reports.core.weeks import Week
from tests.integration.engines.drawn_engine import DrawnEngine

HOUR_NS = 3600 * 10**9
USUAL = {"ttft_s": 0.4, "queue_s": 0.05, "tpot_s": 0.02, "hit_rate": 0.7}


def serve(engine: DrawnEngine, week: Week, seed: int, restarts: Collection[int] = (), **changed: float) -> None:
    """Hours vary, and all hours of a day together."""
    chance = random.Random(seed)
    begin, end = week.range_ns(ZoneInfo(engine.target.project.zone))
    day = 1.0
    for hour, at_ns in enumerate(range(begin + HOUR_NS // 2, end, HOUR_NS)):
        if hour % 24 == 0:
            day = chance.uniform(0.97, 1.03)
        if hour in restarts:
            engine.restart()
        told = {name: value * day * chance.uniform(0.95, 1.05) for name, value in (USUAL | changed).items()}
        engine.scrape(at_ns, requests=chance.randint(80, 120), **told)  # type: ignore[arg-type]
    engine.keep()
