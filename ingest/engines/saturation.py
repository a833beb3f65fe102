"""What an engine is short of, in words: "queueing: 12 waiting, KV cache 97 %"."""

from __future__ import annotations

from enum import StrEnum

from ingest.frozen import Frozen

FULL, NEARLY_FULL = 0.98, 0.90  # of the KV cache; vLLM's own boards colour at these
BUSY_QUEUE = 1.0


class State(StrEnum):
    IDLE = "idle"
    SERVING = "serving"
    QUEUEING = "queueing"
    PREEMPTING = "preempting"
    ASLEEP = "asleep"
    UNKNOWN = "unknown"


class Load(Frozen, frozen=True, kw_only=True):
    """As of one sample; ``preemptions`` are those of the window before it."""

    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    preemptions: float | None = None
    asleep: bool = False


class Saturation(Frozen, frozen=True, kw_only=True):
    state: State
    words: str

    @property
    def is_trouble(self) -> bool:
        return self.state in (State.QUEUEING, State.PREEMPTING)


def saturation(load: Load) -> Saturation:
    """The worst thing first: what was put back, what waits, what is nearly full."""
    facts = _facts(load)
    state = _state(load)
    words = {
        State.PREEMPTING: "preempting", State.QUEUEING: "queueing", State.SERVING: "serving", State.IDLE: "idle",
        State.ASLEEP: "asleep", State.UNKNOWN: "tells no load",
    }[state]  # fmt: skip
    return Saturation(state=state, words=f"{words}: {', '.join(facts)}" if facts else words)


def _state(load: Load) -> State:
    if load.asleep:
        return State.ASLEEP
    if load.preemptions:
        return State.PREEMPTING
    if load.waiting is not None and load.waiting >= BUSY_QUEUE:
        return State.QUEUEING
    if load.running is None and load.waiting is None:
        return State.UNKNOWN
    return State.SERVING if load.running else State.IDLE


def _facts(load: Load) -> list[str]:
    facts = []
    if load.preemptions:
        facts.append(f"{load.preemptions:.0f} preempted")
    if load.waiting:
        facts.append(f"{load.waiting:.0f} waiting")
    if load.running:
        facts.append(f"{load.running:.0f} running")
    if load.kv_usage is not None and (load.kv_usage or load.running or load.waiting):
        facts.append(f"KV cache {percent(load.kv_usage)}")
    return facts


def percent(share: float) -> str:
    """Rounded down near the end: 99.6 % of a cache is not all of it."""
    return f"{min(share * 100, 99) if share < 1 else share * 100:.0f} %"
