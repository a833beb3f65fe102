"""Continuous batching in discrete steps: who waits, who prefills, who decodes, and how long a step takes.

step 1   [ prefill A (2,048 tokens) ]
step 2   [ prefill A (rest) + prefill B ]     A's first token at the end of the step that ends its prefill
step 3   [ decode A, B ]                      one token each
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field

from agents.clock import Clock
from agents.engine.cache import PrefixCache
from agents.engine.costs import CostModel

_MAX_LAG_S = 0.25  # a step later than this (a busy machine) shifts the schedule instead of catching up


@dataclass(eq=False)
class Sequence:
    """One request inside the engine. Times are on the monotonic clock; 0 means not yet."""

    prompt_tokens: int
    output_tokens: int
    chain: list[bytes]
    queued_ns: int = field(default_factory=time.perf_counter_ns)
    scheduled_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0
    cached_tokens: int = 0
    to_prefill: int = 0
    produced: int = 0
    tokens: asyncio.Queue[int] = field(default_factory=asyncio.Queue)  # numbers, as they are made

    @property
    def done(self) -> bool:
        return self.produced >= self.output_tokens


class Scheduler:
    """Shares the engine's steps between sequences, first come first served."""

    def __init__(self, costs: CostModel, clock: Clock) -> None:
        self.costs, self._clock = costs, clock
        self.cache = PrefixCache(costs.cache_blocks)
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._work = asyncio.Event()

    def submit(self, sequence: Sequence) -> None:
        self._waiting.append(sequence)
        self._work.set()

    def cancel(self, sequence: Sequence) -> None:
        """Forget a sequence whose client went away. One that is done or unknown is no error."""
        if sequence in self._waiting:
            self._waiting.remove(sequence)
        if sequence in self._running:
            self._running.remove(sequence)

    async def run(self) -> None:
        """Step for ever; sleeps while there is nothing to do."""
        due_s = 0.0
        while True:
            if not (self._running or self._waiting):
                self._work.clear()
                await self._work.wait()
                due_s = time.perf_counter()
            now_s = time.perf_counter()
            if now_s - due_s > _MAX_LAG_S:
                due_s = now_s
            prefills, decoding = self._plan()
            due_s += self.costs.step_s(sum(prefills.values()), len(decoding)) / self._clock.speed
            # Steps are due at set times, so that a late wake-up does not make the next step later still.
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            self._finish(prefills, decoding)

    def _plan(self) -> tuple[dict[Sequence, int], list[Sequence]]:
        """Prompt tokens of each sequence that prefills in this step, and the sequences that decode."""
        while self._waiting and len(self._running) < self.costs.max_sequences:
            self._admit(self._waiting.popleft())
        decoding = [sequence for sequence in self._running if not sequence.to_prefill]
        budget, prefills = self.costs.max_batched_tokens - len(decoding), {}
        for sequence in self._running:
            if sequence.to_prefill and budget > 0:
                prefills[sequence] = min(budget, sequence.to_prefill)
                budget -= prefills[sequence]
        return prefills, decoding

    def _admit(self, sequence: Sequence) -> None:
        sequence.scheduled_ns = time.perf_counter_ns()
        # The last token is always computed, or there would be nothing to predict the next one from.
        usable = sequence.chain[: (sequence.prompt_tokens - 1) // self.costs.block_tokens]
        sequence.cached_tokens = self.cache.match(usable) * self.costs.block_tokens
        sequence.to_prefill = sequence.prompt_tokens - sequence.cached_tokens
        self._running.append(sequence)

    def _finish(self, prefills: dict[Sequence, int], decoding: list[Sequence]) -> None:
        now_ns = time.perf_counter_ns()
        for sequence, tokens in prefills.items():
            sequence.to_prefill -= tokens
            if not sequence.to_prefill:
                self.cache.insert(sequence.chain)
                sequence.first_token_ns = now_ns
                decoding = [*decoding, sequence]
        for sequence in decoding:
            sequence.last_token_ns = now_ns
            sequence.tokens.put_nowait(sequence.produced)
            sequence.produced += 1
        self._running = [sequence for sequence in self._running if not sequence.done]
