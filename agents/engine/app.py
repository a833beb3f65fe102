"""The engine as an ASGI app: chat completions, streamed or whole, in the scheduler's time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, MutableMapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from uuid import uuid4

from agents.clock import Clock
from agents.engine import template, wire
from agents.engine.answers import holding, joined, passing
from agents.engine.core import CostModel, Event, KvMemory, Scheduler, Sequence, Speculation
from agents.engine.core.profiles import FP8, Quantisation, kv_tokens
from agents.engine.playbook import Playbook, Refusal, Reply
from agents.engine.pump import Pump
from agents.engine.telling.spans import Arrival, Served
from agents.engine.telling.style import VLLM, Style
from agents.engine.wire import Receive, Send
from agents.telemetry import Telemetry


class _RefusedError(Exception):
    """The playbook wants this answer to break off here."""


@dataclass(frozen=True, eq=False)
class _Choice:
    """One answer to a request: its tokens in the scheduler, and what is sent when each is made."""

    index: int
    sequence: Sequence
    shown: list[list[dict[str, Any]]]
    refusal: Refusal | None

    @property
    def message(self) -> dict[str, Any]:
        return joined(delta for deltas in self.shown for delta in deltas)


@dataclass(frozen=True)
class _Job:
    """A request that was accepted, and all that answering it takes."""

    request: dict[str, Any]
    arrival: Arrival
    completion: wire.Completion
    choices: list[_Choice]
    made: asyncio.Queue[tuple[Sequence, int]]

    @property
    def usage(self) -> dict[str, Any]:
        """The prompt counts once, however many answers there are; the engine's own counters see it with each."""
        first = self.choices[0].sequence
        produced = sum(choice.sequence.produced for choice in self.choices)
        return wire.usage(first.prompt_tokens, produced, first.cached_tokens)


class SimulatedEngine:
    """One engine with one model. Without ``telemetry`` it sends no spans, as a hosted API does not.

    ``style`` decides what it looks like from outside and how it keeps KV; ``memory`` can be another than the style's.
    ``log`` gets every event of the scheduler. ``holds_calls`` is a tool parser that sends a call when it is whole.
    """

    def __init__(
        self,
        model: str,
        playbook: Playbook,
        *,
        style: Style = VLLM,
        costs: CostModel | None = None,
        quantisation: Quantisation = FP8,
        memory: KvMemory | None = None,
        speculation: Speculation | None = None,
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
        seed: int = 0,
        log: Callable[[Event], None] | None = None,
        holds_calls: bool = False,
    ) -> None:
        self._shown = holding if holds_calls else passing
        self.model, self.playbook, self.style = model, playbook, style
        self._telemetry = telemetry
        self._quantisation, self._random = quantisation, Random(seed)
        self.scheduler = Scheduler(
            quantisation.applied(costs or CostModel()),
            memory or style.memory(kv_tokens()),
            speculation=speculation,
            seed=seed,
            tell=(log,) if log else (),
        )
        self.page = style.page(model, self.scheduler)
        self.pump = Pump(self.scheduler, clock or Clock())

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        match scope["method"], scope["path"]:
            case "POST", "/v1/chat/completions":
                await self._counted(scope, receive, send)
            case "GET", "/v1/models":
                model = {"id": self.model, "object": "model", "owned_by": "simulated"}
                await wire.send_json(send, 200, {"object": "list", "data": [model]})
            case "GET", "/metrics":
                await wire.send_text(send, self.page.text(), self.page.content_type)
            case "GET", "/version":
                await wire.send_json(send, 200, {"version": f"{self.style.version}+simulated"})
            case "GET", "/health":
                await wire.send_json(send, 200, {})
            case method, path:
                await wire.send_error(send, 404, f"no {method} {path} here")

    async def _counted(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        arrival, status = Arrival.now(scope["headers"]), 500

        async def watched(event: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = event.get("status", status)
            await send(event)

        try:
            await self._chat(arrival, receive, watched)
        finally:
            lasted_s = (time.perf_counter_ns() - arrival.monotonic_ns) / 1e9
            size = int(arrival.carrier.get("content-length") or 0)
            self.page.http(scope["path"], scope["method"], status, size, lasted_s)

    async def _chat(self, arrival: Arrival, receive: Receive, send: Send) -> None:
        try:
            request = await wire.read_request(receive, self.model)
            replies = [self.playbook.reply(request) for _ in range(request.get("n") or 1)]
            for refusal in (reply.refusal for reply in replies):
                if refusal and refusal.after_tokens is None:
                    await wire.send_error(send, refusal.status, refusal.message)
                    return
            job = self._accept(request, replies, arrival)
        except wire.BadRequestError as error:
            await wire.send_error(send, 400, str(error))
            return
        answer = self._stream if request.get("stream") else self._whole
        try:
            await _while_connected(asyncio.ensure_future(answer(job, send)), receive)
        finally:
            for choice in job.choices:
                self.pump.cancel(choice.sequence)  # a client that left frees its place at once

    def _accept(self, request: dict[str, Any], replies: list[Reply], arrival: Arrival) -> _Job:
        prompt = template.prompt(request)
        room = min(self.scheduler.costs.max_model_len, self.scheduler.memory.capacity_tokens) - len(prompt)
        limit = request.get("max_tokens") or request.get("max_completion_tokens") or max(1, room)
        if limit > room:
            raise wire.BadRequestError(
                f"This model's maximum context length is {room + len(prompt)} tokens. However, you requested {limit} "
                f"output tokens and your prompt contains {len(prompt)} tokens."
            )
        completion = wire.Completion(self.model, f"{self.style.id_prefix}{uuid4().hex}")
        job = _Job(request, arrival, completion, [], asyncio.Queue())
        several = len(replies) > 1
        for index, reply in enumerate(replies):
            deltas = self._misformed(reply).deltas()
            reason = "length" if limit < len(deltas) else "tool_calls" if reply.calls else "stop"
            sequence = Sequence(
                id=f"{index}_{completion.id}" if several else completion.id,
                prompt=prompt,
                output=[template.output(delta) for delta in deltas[:limit]],
                arrived_ns=arrival.monotonic_ns,
                reason=reason,
                tool_call_from=next((at for at, delta in enumerate(deltas) if "tool_calls" in delta), None),
                max_tokens=limit,
                streamed=bool(request.get("stream")),
                reader=job.made,
                choices=len(replies),
                of=completion.id if several else "",
            )
            job.choices.append(_Choice(index, sequence, self._shown(deltas)[:limit], reply.refusal))
            self.pump.submit(sequence)
        return job

    def _misformed(self, reply: Reply) -> Reply:
        """A coarsely quantised model loses a closing brace now and then."""
        errors = self._quantisation.tool_format_errors
        if not errors or not reply.calls:
            return reply
        calls = [
            replace(call, arguments=call.arguments[:-1]) if self._random.random() < errors else call
            for call in reply.calls
        ]
        return replace(reply, calls=calls)

    async def _stream(self, job: _Job, send: Send) -> None:
        await wire.start(send, 200, "text/event-stream")  # on acceptance, before the queue, as vLLM does
        wants_usage = (job.request.get("stream_options") or {}).get("include_usage")
        first = True
        try:
            async for choice, deltas, last in self._answers(job):
                if first:
                    for each in job.choices:
                        head = {"role": "assistant", "content": ""}
                        await wire.send_event(send, job.completion.chunk(each.index, head))
                    first = False
                for delta in deltas:
                    await wire.send_event(send, job.completion.chunk(choice.index, delta))
                if last:
                    ended = job.completion.chunk(choice.index, {}, choice.sequence.reason)
                    await wire.send_event(send, ended)
        except _RefusedError as refused:
            # The status has long been sent; the failure can only be an event in the stream.
            await wire.send_event(send, wire.error(500, str(refused)))
        else:
            if wants_usage:
                await wire.send_event(send, job.completion.usage_chunk(job.usage))
        await wire.send_event(send, "[DONE]")
        await send({"type": "http.response.body", "body": b""})

    async def _whole(self, job: _Job, send: Send) -> None:
        try:
            async for _ in self._answers(job):
                pass
        except _RefusedError as refused:
            await wire.send_error(send, 500, str(refused))
        else:
            answers = [(choice.message, choice.sequence.reason) for choice in job.choices]
            await wire.send_json(send, 200, job.completion.whole(answers, job.usage))

    async def _answers(self, job: _Job) -> AsyncIterator[tuple[_Choice, list[dict[str, Any]], bool]]:
        """What is to be sent as the scheduler makes the tokens, and whether it is a choice's last. A choice's span is
        told when its last token is made."""
        left = {choice.sequence: choice for choice in job.choices}
        while left:
            sequence, at = await job.made.get()
            choice = left[sequence]
            if choice.refusal and at == choice.refusal.after_tokens:
                raise _RefusedError(choice.refusal.message)  # a failed request has no span
            deltas, last = choice.shown[at], at == len(choice.shown) - 1
            if last:
                del left[sequence]
                if self._telemetry:
                    served = Served(self.model, job.completion.id, job.request, job.arrival, sequence)
                    self.style.tell(self._telemetry, served)
            if job.request.get("tools") and (sequence.streamed or last):
                seen = choice.shown if last and not sequence.streamed else [deltas]
                self.page.parsed(sequence.streamed, any("tool_calls" in delta for sent in seen for delta in sent))
            yield choice, deltas, last


async def _while_connected(answering: asyncio.Future[None], receive: Receive) -> None:
    """Wait for the answer, but give it up when the client goes away: nobody would read it."""
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (answering, leaving):
            each.cancel()  # no effect on the one that is done
        await asyncio.gather(answering, leaving, return_exceptions=True)
    if not answering.cancelled():
        answering.result()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
