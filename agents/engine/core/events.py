"""What happened in an engine, in order. Pages and spans are made from it, and tests hold both against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import IO

KINDS = ("queued", "scheduled", "made", "preempted", "finished", "aborted", "step")


@dataclass(frozen=True)
class Event:
    """One fact. ``at_ns`` is on the clock that the scheduler is given. Of the rest only what fits the kind is set.

    | kind      | facts                                                                                    |
    | queued    | prompt_tokens, max_tokens, streamed; lasted_ns since the request arrived                 |
    |           | choices, and ``of`` which request it is one, where several answers were asked for        |
    | scheduled | cached_tokens; ``first`` is False after a preemption                                     |
    | made      | tokens (output), drafted, accepted; ``first``; computed_tokens (of the prompt, if first)  |
    | preempted | tokens made so far                                                                       |
    | finished  | prompt_tokens, tokens, cached_tokens, reason                                             |
    | aborted   | tokens made so far                                                                       |
    | step      | tokens (output), computed_tokens, lasted_ns, running, waiting                            |
    """

    kind: str
    at_ns: int
    request: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    first: bool = False
    reason: str = ""
    lasted_ns: int = 0
    max_tokens: int = 0
    streamed: bool = False
    running: int = 0
    waiting: int = 0
    choices: int = 1
    of: str = ""


Listener = Callable[[Event], None]


class EventLog:
    """Keeps the events of requests (steps only if asked for) and, given a file, writes each as a line of JSON."""

    def __init__(self, *, steps: bool = False, file: IO[str] | None = None) -> None:
        self.events: list[Event] = []
        self._steps, self._file = steps, file

    def __call__(self, event: Event) -> None:
        if event.kind == "step" and not self._steps:
            return
        if self._file is None:
            self.events.append(event)  # a file may grow for days, memory must not
            return
        known = {key: value for key, value in asdict(event).items() if value}
        self._file.write(json.dumps(known) + "\n")

    def of(self, request: str) -> list[Event]:
        return [event for event in self.events if event.request == request]
