"""Runs the engine's core to the end of its work in virtual time: no clock, no sleep, the same each time."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field

from agents.engine.core import CostModel, EventLog, KvMemory, PagedMemory, Scheduler, Sequence, Speculation

UNIT = CostModel(
    step_overhead_s=1,
    prefill_per_token_s=0.25,
    attention_per_pair_s=0,
    decode_base_s=4,
    decode_per_sequence_s=1,
    decode_per_context_s=0,
    max_sequences=4,
    max_batched_tokens=64,
    max_model_len=4096,
)
S = 1_000_000_000


def request(name: str, prompt: Many[str], output: int = 4, **given: object) -> Sequence:
    usual = {"arrived_ns": 0, "max_tokens": output}
    return Sequence(name, list(prompt), [f"{name}{at}" for at in range(output)], **usual | given)  # type: ignore[arg-type]


def words(count: int, start: str = "w") -> list[str]:
    return [f"{start}{at}" for at in range(count)]


@dataclass
class Bench:
    costs: CostModel = UNIT
    memory: KvMemory = field(default_factory=lambda: PagedMemory(4096))
    speculation: Speculation | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.log = EventLog(steps=True)
        self.now_ns = 0
        self.scheduler = Scheduler(
            self.costs, self.memory, speculation=self.speculation, seed=self.seed, tell=(self.log,)
        )

    def submit(self, *requests: Sequence) -> None:
        for each in requests:
            each.arrived_ns = self.now_ns
            self.scheduler.submit(each, self.now_ns)

    def step(self) -> None:
        step = self.scheduler.plan(self.now_ns)
        assert step.works or self.scheduler.idle, "a step that does nothing, with work left"
        assert sum(work.tokens + work.drafts for work in step.works) <= self.costs.max_batched_tokens
        assert len(self.scheduler.running) <= self.costs.max_sequences
        assert self.memory.held_tokens <= self.memory.capacity_tokens
        self.now_ns += step.lasts_ns
        self.scheduler.finish(step, self.now_ns)

    def run(self, *requests: Sequence) -> None:
        self.submit(*requests)
        for _ in range(100_000):
            if self.scheduler.idle:
                return
            self.step()
        raise AssertionError("it does not end")
