"""Time that can run faster than real, for whatever is simulated. Telemetry always records real time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """Sleeps ``seconds / speed``. A speed of 20 makes a simulated second last 50 ms."""

    speed: float = 1.0

    def __post_init__(self) -> None:
        if self.speed <= 0:
            raise ValueError(f"speed must be above 0, not {self.speed}")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)
