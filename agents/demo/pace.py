"""What starts when: a steady stream of runs, flaws at known places, now and then a burst."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agents.demo.cast import FREQUENT, Coding, Digest, Research, Role, Session, Support, Triage
from agents.demo.world import World
from agents.errors import AgentError
from agents.loop import Result

CYCLE = 40  # after so many runs the flaws come again
BURST = 10
MAX_IN_FLIGHT = 60  # whatever rate is asked for, the demo stays a small program
GRACE_S = 3.0  # after Ctrl-C, runs that are nearly done may end by themselves

# Run number within the cycle → who fails, and how. So each is seen within the first minute or so.
FLAWS: dict[int, tuple[type[Role], str]] = {
    4: (Support, FREQUENT),
    5: (Support, "gateway"),
    7: (Support, FREQUENT),
    20: (Research, "slow"),
    22: (Support, FREQUENT),
    23: (Support, "unknown_tool"),
    26: (Coding, "patch"),
    29: (Support, "malformed"),
    32: (Research, "engine"),
    35: (Support, "gateway"),
    38: (Research, "slow"),
}
BURST_AT = 9  # runs 9 to 18 of the cycle
# Quick ones first, so that a newcomer sees whole runs within seconds.
OPENING: tuple[type[Role], ...] = (Triage, Support, Support, Research)
MIX: dict[type[Role], int] = {Support: 40, Triage: 20, Research: 22, Coding: 18}


@dataclass
class Tally:
    """How many runs ended, and how many of them with an answer."""

    ended: int = 0
    answered: int = 0


@dataclass
class Show:
    """One demo: starts runs in ``world`` and reports each as it ends. Rates are in runs a minute."""

    world: World
    say: Callable[[str], None]
    tally: Tally = field(default_factory=Tally)
    _started: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        roles: tuple[type[Role], ...] = (Support, Research, Coding, Triage, Digest)
        self._roles = {role: role(self.world) for role in roles}

    async def run(self, *, rate: float, runs: int | None) -> None:
        """Start runs until ``runs`` have been started, or until cancelled; then wait for those in flight."""
        while runs is None or self._started < runs:
            for role, flaw in self._next(runs):
                self._start(self._roles[role], flaw)
            while len(self._tasks) >= MAX_IN_FLIGHT:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            if runs is None or self._started < runs:
                await self.world.clock.sleep(self._gap_s(rate))
        await self._idle()

    async def stop(self, hurry: asyncio.Event) -> None:
        """Let runs in flight end for a moment, then cut them short; their spans end either way."""
        enough = [asyncio.ensure_future(hurry.wait()), asyncio.ensure_future(self._idle())]
        await asyncio.wait(enough, timeout=GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        for task in (*enough, *self._tasks):
            task.cancel()
        await self._idle()

    async def _idle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _next(self, runs: int | None) -> list[tuple[type[Role], str | None]]:
        """Who runs now: one run as a rule, ten when it is time for a burst."""
        at = self._started % CYCLE
        if self._started < len(OPENING):
            return [(OPENING[self._started], None)]
        if at in FLAWS:
            return [FLAWS[at]]
        if at == BURST_AT:
            left = BURST if runs is None else min(BURST, runs - self._started)
            return [(Digest, None)] * left
        return [(self.world.random.choices(list(MIX), list(MIX.values()))[0], None)]

    def _gap_s(self, rate: float) -> float:
        """Until the next start: short at first, then at random around the mean, as users come."""
        mean_s = 60.0 / rate
        if self._started < len(OPENING):
            return min(0.3, mean_s)
        return min(max(self.world.random.expovariate(1 / mean_s), 0.2 * mean_s), 2.5 * mean_s)

    def _start(self, role: Role, flaw: str | None) -> None:
        self._started += 1
        session = role.opened(role.agents[0]) if flaw == FREQUENT else role.session()
        session.busy = True
        task = asyncio.create_task(self._play(role, session, flaw))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, role: Role, session: Session, flaw: str | None) -> None:
        question, plan = role.question(flaw, opens=not session.history)
        self.world.playbook.plan(question, *plan)
        started_ns = time.perf_counter_ns()
        outcome = "cut short"
        try:
            result = await session.agent.run(
                question,
                history=session.history,
                conversation_id=session.id if role.converses else None,
                user_id=session.user,
            )
            session.history = result.messages
            self.tally.answered += 1
            outcome = _told(result)
        except AgentError as error:
            outcome = f"failed: {error}"
        finally:
            session.busy = False
            session.turns += 1
            self.tally.ended += 1
            took_s = (time.perf_counter_ns() - started_ns) / 1e9
            self.say(f"{time.strftime('%H:%M:%S')}  {session.agent.name:<15} {took_s:5.1f} s  {outcome}")


def _told(result: Result) -> str:
    if result.cached:
        return "answered from the cache"
    tools = sum(len(answer.tool_requests) for answer in result.answers)
    failed = f", {result.failed_tools} failed" if result.failed_tools else ""
    calls = "call" if result.rounds == 1 else "calls"
    return f"{result.rounds} model {calls}, {tools} tools{failed}"
