"""What customers ask again and again, in several words, with the answer that fits them all: for the semantic cache."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from agents.clock import Clock
from agents.techniques.semantic_cache import Entry, MemoryStore, Scope

# The first two of each are so alike that the small embedding sees it, the third is another question to it.
FAQ: tuple[tuple[tuple[str, str, str], str], ...] = (
    (
        ("What are your opening hours?", "What are your opening hours, please?", "When are you open?"),
        "We are open from nine to six, Monday to Saturday, and answer messages until eight in the evening.",
    ),
    (
        ("How do I send something back?", "How can I send something back?", "I would like to return a parcel."),
        "Print the label from your account, put it on the parcel and leave it at any post office within thirty days. "
        "Your money is back within a week of its arrival.",
    ),
    (
        ("What does delivery cost?", "What does a delivery cost?", "Is shipping free?"),
        "Delivery is free from forty upwards and costs four below that, wherever you live in the country.",
    ),
)
THRESHOLD = 0.8
"""Looser than the cautious 0.92: these questions are about nobody, so a wrong hit is a small harm."""
_WORDINGS = (0, 1, 0, 0, 2)


def nth(number: int) -> tuple[str, str]:
    """A question and its answer, so that five in a row are a miss, a similar one, the same twice, and a miss."""
    asked, answer = FAQ[number // len(_WORDINGS) % len(FAQ)]
    return asked[_WORDINGS[number % len(_WORDINGS)]], answer


def for_all(question: str, user_id: str | None) -> Scope | None:
    """All customers of the shop share what is asked about nobody in particular; all else is not for the cache."""
    return Scope("shop") if any(question in asked for asked, _ in FAQ) else None


class SharedStore(MemoryStore):
    """As if the answers lay in a Valkey elsewhere: each question to it is a trip of a few milliseconds."""

    def __init__(self, clock: Clock, random: Random) -> None:
        super().__init__()
        self._clock, self._random = clock, random

    async def put(self, space: str, entry: Entry) -> None:
        await self._trip()
        await super().put(space, entry)

    async def exact(self, space: str, key: str) -> Entry | None:
        await self._trip()
        return await super().exact(space, key)

    async def nearest(self, space: str, vector: Sequence[float], now_ns: int) -> tuple[Entry, float] | None:
        await self._trip()
        return await super().nearest(space, vector, now_ns)

    async def _trip(self) -> None:
        await self._clock.sleep(self._random.uniform(0.003, 0.009))
