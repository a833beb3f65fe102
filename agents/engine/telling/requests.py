"""The times of open requests, gathered from the scheduler's events, for pages that count at certain moments."""

from __future__ import annotations

from dataclasses import dataclass

from agents.engine.core import Event


@dataclass
class Timeline:
    """One request so far; ns on the scheduler's clock, 0 before it happened."""

    arrived_ns: int
    queued_ns: int
    max_tokens: int
    streamed: bool
    choices: int = 1
    of: str = ""
    scheduled_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0
    preemptions: int = 0
    verifications: int = 0

    @property
    def queue_s(self) -> float:
        return (self.scheduled_ns - self.queued_ns) / 1e9

    @property
    def prefill_s(self) -> float:
        return (self.first_token_ns - self.scheduled_ns) / 1e9

    @property
    def decode_s(self) -> float:
        return (self.last_token_ns - self.first_token_ns) / 1e9

    @property
    def inference_s(self) -> float:
        return (self.last_token_ns - self.scheduled_ns) / 1e9

    @property
    def ttft_s(self) -> float:
        return (self.first_token_ns - self.arrived_ns) / 1e9

    @property
    def e2e_s(self) -> float:
        return (self.last_token_ns - self.arrived_ns) / 1e9


class Timelines:
    def __init__(self) -> None:
        self._open: dict[str, Timeline] = {}

    def after(self, event: Event) -> tuple[Timeline, float] | None:
        """The request of an event with the event added, and seconds since its token before. None for steps."""
        if event.kind == "queued":
            arrived_ns = event.at_ns - event.lasted_ns
            line = Timeline(arrived_ns, event.at_ns, event.max_tokens, event.streamed, event.choices, event.of)
            self._open[event.request] = line
            return line, 0.0
        if event.kind == "step":
            return None
        line, gap_s = self._open[event.request], 0.0
        match event.kind:
            case "scheduled" if event.first:
                line.scheduled_ns = event.at_ns
            case "preempted":
                line.preemptions += 1
            case "made":
                line.verifications += bool(event.drafted)
                if event.first:
                    line.first_token_ns = event.at_ns
                gap_s = (event.at_ns - (line.last_token_ns or event.at_ns)) / 1e9
                line.last_token_ns = event.at_ns
            case "finished" | "aborted":
                del self._open[event.request]
        return line, gap_s
