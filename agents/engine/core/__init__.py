"""The engine as plain Python: steps, costs, KV memory. Seeded, time passed in; no asyncio, no clock, no bytes.

    costs        what a step takes, with the source of every number
    profiles     whole engines: sizes, quantisation, KV room that follows from them
    paged        KV memory in blocks with a prefix cache, as vLLM's
    radix        KV memory by token with a radix tree, as SGLang's
    speculation  drafts and how many are accepted
    scheduler    continuous batching, chunked prefill, preemption
    events       all that happened: the truth that pages and spans are held against

A token is up to four characters of text, or one special word; equal tokens are equal text, so no hash decides
about reuse but the block chain's.
"""

from agents.engine.core.costs import CostModel
from agents.engine.core.events import Event, EventLog
from agents.engine.core.memory import KvMemory, Tokens
from agents.engine.core.paged import PagedMemory
from agents.engine.core.radix import RadixMemory
from agents.engine.core.scheduler import Scheduler
from agents.engine.core.sequence import Sequence
from agents.engine.core.speculation import Speculation

__all__ = [
    "CostModel",
    "Event",
    "EventLog",
    "KvMemory",
    "PagedMemory",
    "RadixMemory",
    "Scheduler",
    "Sequence",
    "Speculation",
    "Tokens",
]
