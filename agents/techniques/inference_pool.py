"""As many model calls at once as the GPU has memory for, in a fair order.

Saves   the tail: calls beyond the engine's memory are not taken in and preempted, and who is in a hurry goes first.
        It makes waiting visible: without it the queue is inside the engine, where no span tells of it.
Risks   a size that is too small leaves the GPU idle; too large, and the pool does nothing.
Source  practice reports of 2026: (GPU memory - weights) / KV per request. 80 GB and 70 GB of weights: 8 requests of
        1.2 GB (32 K context), 33 of 0.3 GB where a prefix is shared.

Order: the lower number goes first. A call rises by one for each ``promote_after_s`` that it has waited, so nobody
starves; among equals the tenants take turns, and within a tenant goes first who came first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

INTERACTIVE, USUAL, BATCH = 0, 1, 2


def pool_size(gpu_gb: float, weights_gb: float, kv_gb: float, *, shared_gb: float = 0.0) -> int:
    """Requests that fit beside the weights. ``kv_gb`` is one request's own KV, ``shared_gb`` what all share.

    With a shared prefix ``kv_gb`` is what is left of a request without it: 0.3 instead of 1.2 in the report.
    """
    if kv_gb <= 0:
        raise ValueError(f"kv_gb must be above 0, not {kv_gb:g}")
    free_gb = gpu_gb - weights_gb - shared_gb
    # A hair more than the quotient: 10 GB / 0.1 GB are 100, whatever doubles make of it.
    size = int(free_gb / kv_gb + 1e-9)
    if size < 1:
        raise ValueError(f"no request of {kv_gb:g} GB fits in the {max(0.0, free_gb):g} GB beside the weights")
    return size


class Spans(Protocol):
    """What the pool needs of `agents.telemetry.Telemetry`."""

    def queue(self, name: str) -> AbstractContextManager[Any]: ...


@dataclass(eq=False)
class _Ticket:
    number: int
    tenant: str
    priority: int
    since_ns: int
    turn: asyncio.Future[None]


@dataclass
class InferencePool:
    """``async with pool.slot(tenant="acme", priority=INTERACTIVE): ...`` around a model call.

    With ``telemetry`` a call that has to wait gets a span of its waiting (``sixstage.queue``); who shares the pool with
    other services gives their own with each call.
    """

    size: int
    promote_after_s: float = 5.0
    telemetry: Spans | None = None
    now_ns: Callable[[], int] = time.monotonic_ns
    running: int = 0
    _waiting: list[_Ticket] = field(default_factory=list)
    _turn: int = 0
    _next_turn: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be at least 1, not {self.size}")

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @asynccontextmanager
    async def slot(
        self, *, tenant: str = "", priority: int = USUAL, telemetry: Spans | None = None
    ) -> AsyncIterator[int]:
        """A place, for the length of the block; gives the nanoseconds waited for it."""
        asked_ns = self.now_ns()
        await self._enter(tenant, priority, telemetry or self.telemetry)
        try:
            yield self.now_ns() - asked_ns
        finally:
            self._leave()

    async def _enter(self, tenant: str, priority: int, telemetry: Spans | None = None) -> None:
        if self.running < self.size and not self._waiting:
            self._start(tenant)
            return
        self._count += 1
        turn = asyncio.get_running_loop().create_future()
        ticket = _Ticket(self._count, tenant, priority, self.now_ns(), turn)
        self._waiting.append(ticket)
        with telemetry.queue("inference pool") if telemetry else nullcontext():
            try:
                await turn
            except asyncio.CancelledError:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                elif turn.done() and not turn.cancelled():
                    self._leave()  # its turn came while it was being cancelled: pass it on
                raise

    def _start(self, tenant: str) -> None:
        self.running += 1
        self._turn = self._due(tenant)
        self._next_turn[tenant] = self._turn + 1

    def _due(self, tenant: str) -> int:
        """The tenant's turn: one after its last, but never before the present one. Who was away is owed nothing, and
        who asks for much at once gets every other turn beside one that asks for little (start-time fair queueing)."""
        return max(self._turn, self._next_turn.get(tenant, 0))

    def _leave(self) -> None:
        self.running -= 1
        while self._waiting and self.running < self.size:
            ticket = self._next()
            self._waiting.remove(ticket)
            if not ticket.turn.done():  # a cancelled one has not been told yet
                self._start(ticket.tenant)
                ticket.turn.set_result(None)
        if not self._waiting and not self.running:
            self._next_turn.clear()  # nobody is here to be fair to
            self._turn = 0

    def _next(self) -> _Ticket:
        now_ns, step_ns = self.now_ns(), self.promote_after_s * 1e9
        # Nobody rises above who came as the most urgent: among calls that came alike, long waits change no turns.
        most_urgent = min(ticket.priority for ticket in self._waiting)

        def order(ticket: _Ticket) -> tuple[int, int, int]:
            risen = int((now_ns - ticket.since_ns) / step_ns)
            return max(most_urgent, ticket.priority - risen), self._due(ticket.tenant), ticket.number

        return min(self._waiting, key=order)
