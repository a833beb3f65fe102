"""One request inside the engine, and its times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agents.engine.core.memory import Tokens


@dataclass(eq=False)
class Sequence:
    """A prompt, and the answer that it will get. Times are ns on the scheduler's clock; None means not yet.

    arrived   queued   scheduled            first token                 last token
       |--------|---------|====== prefill =======|======= decode ===========|
       |<------------ time to first token ------>|
    """

    id: str
    prompt: Tokens
    output: Tokens
    arrived_ns: int
    reason: str = "stop"
    """Why it ends when all of ``output`` is made: stop, length or tool_calls."""
    tool_call_from: int | None = None
    """The output token with which tool calls begin."""
    max_tokens: int = 0
    streamed: bool = True
    reader: Any = None
    """Where the made tokens go; the scheduler does not look at it."""
    choices: int = 1
    """How many answers its request asked for (``n``); each is a sequence of its own."""
    of: str = ""
    """The request that it is a choice of, where there are several."""

    queued_ns: int | None = None
    scheduled_ns: int | None = None
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    cached_tokens: int = 0
    """Of the prompt, found in the cache when it was first scheduled."""
    computed: int = 0
    """Tokens, from the prompt's start, whose keys are in memory now."""
    produced: int = 0
    preemptions: int = 0
    verifications: int = 0
    made_at: list[tuple[int, int]] = field(default_factory=list)
    """(ns, tokens) of every step that made some."""

    @property
    def prompt_tokens(self) -> int:
        return len(self.prompt)

    @property
    def known(self) -> int:
        """Tokens whose keys the next token needs: the prompt and what was made so far."""
        return len(self.prompt) + self.produced

    @property
    def prefills(self) -> bool:
        """Has more to compute than the last made token: a prompt, or all again after a preemption."""
        return self.known - self.computed > 1 or not self.produced

    @property
    def done(self) -> bool:
        return self.produced >= len(self.output)

    def tokens(self, count: int) -> Tokens:
        """The first ``count`` of prompt and output."""
        if count <= len(self.prompt):
            return self.prompt[:count]
        return [*self.prompt, *self.output[: count - len(self.prompt)]]
