"""Continuous batching in discrete steps: who waits, who prefills, who decodes, and how long a step takes.

step 1   [ prefill A (2,048 tokens) ]
step 2   [ prefill A (rest) + prefill B ]     A's first token at the end of the step that ends its prefill
step 3   [ decode A, B ]                      one token each, more where drafts are accepted

As vLLM's V1 scheduler: running requests come first, in order of arrival; when memory runs out the latest of them
is preempted, loses its keys and goes to the head of the queue; nobody is admitted in a step that preempted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from agents.engine.core.costs import CostModel, pairs
from agents.engine.core.events import Event, Listener
from agents.engine.core.memory import KvMemory
from agents.engine.core.sequence import Sequence
from agents.engine.core.speculation import Speculation


@dataclass(frozen=True)
class Work:
    """What a step does for one sequence: compute so many tokens, and check so many drafts."""

    sequence: Sequence
    tokens: int
    drafts: int = 0


@dataclass
class Step:
    began_ns: int
    works: list[Work] = field(default_factory=list)
    lasts_ns: int = 0


@dataclass(frozen=True)
class Made:
    """Output tokens of a step: numbers ``first`` to ``first + tokens - 1`` of the sequence."""

    sequence: Sequence
    first: int
    tokens: int


class Scheduler:
    """Shares the engine's steps between sequences. ``tell`` is called with each event as it happens."""

    def __init__(
        self,
        costs: CostModel,
        memory: KvMemory,
        *,
        speculation: Speculation | None = None,
        seed: int = 0,
        tell: tuple[Listener, ...] = (),
    ) -> None:
        self.costs, self.memory, self.speculation = costs, memory, speculation
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.listeners = list(tell)
        self._random = Random(seed)
        self._warm = False

    @property
    def idle(self) -> bool:
        return not (self.running or self.waiting)

    def submit(self, sequence: Sequence, now_ns: int) -> None:
        longest = min(self.costs.max_model_len, self.memory.capacity_tokens)
        if sequence.prompt_tokens + len(sequence.output) > longest:
            raise ValueError(f"{sequence.id} needs more than {longest} tokens")
        sequence.queued_ns = now_ns
        self.waiting.append(sequence)
        self._tell(
            Event(
                "queued",
                now_ns,
                sequence.id,
                prompt_tokens=sequence.prompt_tokens,
                max_tokens=sequence.max_tokens,
                streamed=sequence.streamed,
                lasted_ns=now_ns - sequence.arrived_ns,
                choices=sequence.choices,
                of=sequence.of,
            )
        )

    def cancel(self, sequence: Sequence, now_ns: int) -> None:
        """Forget a sequence whose client went away. One that is done or unknown is no error."""
        if sequence in self.waiting:
            self.waiting.remove(sequence)
        elif sequence in self.running:
            self.running.remove(sequence)
            self.memory.release(sequence.id)
        else:
            return
        self._tell(Event("aborted", now_ns, sequence.id, tokens=sequence.produced))

    def plan(self, now_ns: int) -> Step:
        """The next step, with the memory that it needs taken. Empty only when there is nothing to do."""
        step, budget = Step(now_ns), self.costs.max_batched_tokens
        preempted = False
        at = 0
        while at < len(self.running) and budget > 0:
            sequence = self.running[at]
            work = self._work(sequence, budget)
            while work is None:  # no memory
                preempted = True
                victim = self.running.pop()
                self._preempt(victim, now_ns)
                if victim is sequence:
                    break
                work = self._work(sequence, budget)
            if work is None:
                break
            step.works.append(work)
            budget -= work.tokens + work.drafts
            at += 1
        while self.waiting and budget > 0 and not preempted and len(self.running) < self.costs.max_sequences:
            work = self._admit(self.waiting[0], budget, now_ns)
            if work is None:
                break
            self.running.append(self.waiting.popleft())
            step.works.append(work)
            budget -= work.tokens
        step.lasts_ns = self._lasts_ns(step)
        return step

    def finish(self, step: Step, now_ns: int) -> list[Made]:
        """The end of a step: what it made. Sequences that were cancelled meanwhile make nothing."""
        made: list[Made] = []
        computed = 0
        alive = {id(sequence) for sequence in self.running}
        for work in step.works:
            if id(work.sequence) in alive:
                computed += work.tokens
                made += self._advance(work, now_ns)
        self.running = [sequence for sequence in self.running if not sequence.done]
        self._tell(
            Event(
                "step",
                now_ns,
                tokens=sum(each.tokens for each in made),
                computed_tokens=computed,
                lasted_ns=now_ns - step.began_ns,
                running=len(self.running),
                waiting=len(self.waiting),
            )
        )
        return made

    def _work(self, sequence: Sequence, budget: int) -> Work | None:
        """What a running sequence may do with the budget; None where memory lacks."""
        tokens = min(budget, sequence.known - sequence.computed)
        drafts = 0
        spec = self.speculation
        if spec and not sequence.prefills and sequence.produced >= max(1, spec.skip_tokens):
            drafts = min(spec.draft_tokens, budget - tokens)
        if drafts and self.memory.reserve(sequence.id, sequence.computed + tokens + drafts):
            return Work(sequence, tokens, drafts)
        if self.memory.reserve(sequence.id, sequence.computed + tokens):
            return Work(sequence, tokens)
        return None

    def _admit(self, sequence: Sequence, budget: int, now_ns: int) -> Work | None:
        cached = self.memory.admit(sequence.id, sequence.tokens(sequence.known))
        tokens = min(budget, sequence.known - cached)
        if not self.memory.reserve(sequence.id, cached + tokens):
            self.memory.release(sequence.id)
            return None
        sequence.computed = cached
        first = sequence.scheduled_ns is None
        if first:
            sequence.scheduled_ns, sequence.cached_tokens = now_ns, cached
        self._tell(
            Event(
                "scheduled",
                now_ns,
                sequence.id,
                prompt_tokens=sequence.prompt_tokens,
                cached_tokens=cached,
                first=first,
            )
        )
        return Work(sequence, tokens)

    def _preempt(self, sequence: Sequence, now_ns: int) -> None:
        self.memory.release(sequence.id)
        sequence.computed = 0
        sequence.preemptions += 1
        self.waiting.appendleft(sequence)
        self._tell(Event("preempted", now_ns, sequence.id, tokens=sequence.produced))

    def _lasts_ns(self, step: Step) -> int:
        if not step.works:
            return 0
        prefills = [work for work in step.works if work.sequence.prefills]
        decodes = [work for work in step.works if not work.sequence.prefills]
        drafts = sum(work.drafts for work in decodes)
        spent = self.costs.step_s(
            sum(work.tokens for work in prefills),
            len(decodes),
            pairs=sum(pairs(work.sequence.computed, work.tokens) for work in prefills),
            context=sum(work.sequence.computed for work in decodes),
            draft_tokens=drafts,
        )
        if drafts and self.speculation:
            spent += self.speculation.cost_s
        if not self._warm:
            self._warm = True
            spent += self.costs.first_step_s
        return round(spent * 1e9)

    def _advance(self, work: Work, now_ns: int) -> Iterator[Made]:
        sequence = work.sequence
        in_memory = sequence.computed
        sequence.computed += work.tokens
        if sequence.computed < sequence.known:  # a chunk of a prompt
            self.memory.keep(sequence.id, sequence.tokens(sequence.computed))
            return
        first, before = sequence.first_token_ns is None, sequence.produced
        accepted = self._accepted(work)
        # What is accepted beyond the answer's end is thrown away, as engines do.
        tokens = min(1 + accepted, len(sequence.output) - before)
        sequence.computed += tokens - 1
        sequence.produced += tokens
        if first or sequence.done or self._fills_a_block(in_memory, sequence.computed):
            self.memory.keep(sequence.id, sequence.tokens(sequence.computed))
        sequence.last_token_ns = now_ns
        sequence.made_at.append((now_ns, tokens))
        if first:
            sequence.first_token_ns = now_ns
        self._tell(
            Event(
                "made",
                now_ns,
                sequence.id,
                tokens=tokens,
                drafted=work.drafts,
                accepted=accepted,
                first=first,
                prompt_tokens=sequence.prompt_tokens if first else 0,
                cached_tokens=sequence.cached_tokens if first else 0,
                computed_tokens=sequence.prompt_tokens - sequence.cached_tokens if first else 0,
            )
        )
        if sequence.done:
            self.memory.release(sequence.id)
            self._tell(
                Event(
                    "finished",
                    now_ns,
                    sequence.id,
                    prompt_tokens=sequence.prompt_tokens,
                    cached_tokens=sequence.cached_tokens,
                    tokens=sequence.produced,
                    reason=sequence.reason,
                )
            )
        yield Made(sequence, before, tokens)

    def _fills_a_block(self, before: int, after: int) -> bool:
        """A tree takes a decoding request's tokens only at its end: as SGLang does, and it is dear by the token."""
        block = self.memory.block_tokens
        return block > 1 and after // block > before // block

    def _accepted(self, work: Work) -> int:
        if not work.drafts or not self.speculation:
            return 0
        sequence = work.sequence
        in_call = sequence.tool_call_from is not None and sequence.produced >= sequence.tool_call_from
        sequence.verifications += 1
        return self.speculation.accepted(work.drafts, in_call, self._random)

    def _tell(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)
