"""The engine as an ASGI app: chat completions, streamed or whole, in the scheduler's time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from agents.clock import Clock
from agents.engine import wire
from agents.engine.cache import block_chain
from agents.engine.costs import CostModel
from agents.engine.playbook import Playbook, Refusal, Reply
from agents.engine.scheduler import Scheduler, Sequence
from agents.engine.spans import Arrival, tell
from agents.engine.wire import Receive, Send
from agents.telemetry import Telemetry


class _RefusedError(Exception):
    """The playbook wants this answer to break off here."""


@dataclass(frozen=True)
class _Job:
    """A request that was accepted, and all that answering it takes."""

    request: dict[str, Any]
    arrival: Arrival
    completion: wire.Completion
    sequence: Sequence
    deltas: list[dict[str, Any]]
    refusal: Refusal | None

    @property
    def usage(self) -> dict[str, Any]:
        sequence = self.sequence
        return wire.usage(sequence.prompt_tokens, sequence.produced, sequence.cached_tokens)


class SimulatedEngine:
    """One engine with one model. Without ``telemetry`` it sends no spans, as a hosted API does not."""

    def __init__(
        self,
        model: str,
        playbook: Playbook,
        *,
        costs: CostModel | None = None,
        telemetry: Telemetry | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.model, self.playbook = model, playbook
        self._telemetry = telemetry
        self._costs = costs or CostModel()
        self.scheduler = Scheduler(self._costs, clock or Clock())

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        match scope["method"], scope["path"]:
            case "POST", "/v1/chat/completions":
                await self._chat(Arrival.now(scope["headers"]), receive, send)
            case "GET", "/v1/models":
                model = {"id": self.model, "object": "model", "owned_by": "simulated"}
                await wire.send_json(send, 200, {"object": "list", "data": [model]})
            case "GET", "/health":
                await wire.send_json(send, 200, {})
            case method, path:
                await wire.send_error(send, 404, f"no {method} {path} here")

    async def _chat(self, arrival: Arrival, receive: Receive, send: Send) -> None:
        try:
            request = await wire.read_request(receive, self.model)
        except wire.BadRequestError as error:
            await wire.send_error(send, 400, str(error))
            return
        reply = self.playbook.reply(request)
        if reply.refusal and reply.refusal.after_tokens is None:
            await wire.send_error(send, reply.refusal.status, reply.refusal.message)
            return
        job = self._accept(request, reply, arrival)
        answer = self._stream if request.get("stream") else self._whole
        try:
            await _while_connected(asyncio.ensure_future(answer(job, send)), receive)
        finally:
            self.scheduler.cancel(job.sequence)  # a client that left frees its place at once

    def _accept(self, request: dict[str, Any], reply: Reply, arrival: Arrival) -> _Job:
        costs, prompt = self._costs, wire.rendered(request)
        deltas = reply.deltas(costs.chars_per_token)
        limit = request.get("max_tokens") or request.get("max_completion_tokens") or len(deltas)
        reason = "length" if limit < len(deltas) else "tool_calls" if reply.calls else "stop"
        sequence = Sequence(
            prompt_tokens=costs.tokens(prompt),
            output_tokens=min(limit, len(deltas)),
            chain=block_chain(prompt, costs.block_tokens * costs.chars_per_token),
        )
        self.scheduler.submit(sequence)
        completion = wire.Completion(self.model, reason)
        return _Job(request, arrival, completion, sequence, deltas[:limit], reply.refusal)

    async def _stream(self, job: _Job, send: Send) -> None:
        await wire.start(send, 200, "text/event-stream")  # on acceptance, before the queue, as vLLM does
        wants_usage = (job.request.get("stream_options") or {}).get("include_usage")
        first = True
        try:
            async for delta in self._deltas(job):
                if first:
                    await wire.send_event(send, job.completion.chunk({"role": "assistant", "content": ""}))
                    first = False
                await wire.send_event(send, job.completion.chunk(delta))
        except _RefusedError as refused:
            # The status has long been sent; the failure can only be an event in the stream.
            await wire.send_event(send, wire.error(500, str(refused)))
        else:
            await wire.send_event(send, job.completion.chunk({}, job.completion.finish_reason))
            if wants_usage:
                await wire.send_event(send, job.completion.usage_chunk(job.usage))
        await wire.send_event(send, "[DONE]")
        await send({"type": "http.response.body", "body": b""})

    async def _whole(self, job: _Job, send: Send) -> None:
        try:
            deltas = [delta async for delta in self._deltas(job)]
        except _RefusedError as refused:
            await wire.send_error(send, 500, str(refused))
        else:
            await wire.send_json(send, 200, job.completion.whole(wire.joined(deltas), job.usage))

    async def _deltas(self, job: _Job) -> AsyncIterator[dict[str, Any]]:
        """The answer's deltas as the scheduler makes their tokens; tells the span when the last is made."""
        while True:
            at = await job.sequence.tokens.get()
            if job.refusal and at == job.refusal.after_tokens:
                raise _RefusedError(job.refusal.message)  # a failed request has no span
            last = at == len(job.deltas) - 1
            if last and self._telemetry:
                tell(self._telemetry, job.arrival, job.sequence, job.request, job.completion.id)
            yield job.deltas[at]
            if last:
                return


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
