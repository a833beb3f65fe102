"""What a call's engine spans tell beside times: tokens, finish reason, model. They fill what the client leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ingest.semconv import Facts
from ingest.stages.drafts import CallDraft
from ingest.stages.tree import Node


def take_engine_facts(call: CallDraft) -> None:
    """Complete ``call.told``; what the client tells itself stays. With several choices their outputs add up, and the
    input, which each of their spans repeats, counts once."""
    told, choices = call.told, choices_of(call)
    if not choices:
        return
    if call.nodes[0] in choices:  # no client's span: one choice's count is not the call's
        told = replace(told, output_tokens=None)
    call.told = _completed(told, choices)


def choices_of(call: CallDraft) -> list[Node]:
    """The engine spans of the answer that the call got, the one that took longest first: one, or with n > 1 one for
    each choice. Those of a request that was sent before, and answered in vain, are left out."""
    engines = sorted(call.engines, key=_length, reverse=True)
    if not engines:
        return []
    known = {node.facts.response_id for node in engines}
    answered = call.told.response_id if call.told.response_id in known else engines[0].facts.response_id
    if answered is None:
        return engines[:1]
    return [node for node in engines if node.facts.response_id == answered]


def _length(node: Node) -> int:
    times = node.facts.engine
    return 0 if times is None else times.e2e_ns or 0


def _completed(told: Facts, choices: Sequence[Node]) -> Facts:
    taken: dict[str, Any] = {}
    if not told.input_tokens:
        taken["input_tokens"], taken["cached_apart"] = _first(choices, "input_tokens"), False
    if told.output_tokens is None or not (told.output_tokens or told.input_tokens):
        counts = [node.facts.output_tokens for node in choices]
        taken["output_tokens"] = None if None in counts else sum(count or 0 for count in counts)
    if told.request_model is None and told.response_model is None:
        taken["request_model"] = _first(choices, "request_model")
        taken["response_model"] = _first(choices, "response_model")
    for name in ("cached_tokens", "finish_reason", "response_id"):
        if getattr(told, name) is None:
            taken[name] = _first(choices, name)
    return replace(told, **{name: value for name, value in taken.items() if value is not None})


def _first(choices: Sequence[Node], name: str) -> Any:
    return next((known for node in choices if (known := getattr(node.facts, name)) is not None), None)
