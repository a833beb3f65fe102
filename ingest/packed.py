"""What of a run is shown and never filtered by, packed into two byte columns.

``summary`` is read with every row of a list: busy times and sources by stage. ``detail`` is read by the run's page:
phases, warnings, and of each call and tool what no figure is counted by. As JSON, and as columns of calls and tools,
the same took four times the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import zstandard
from msgspec import Struct

from ingest.stages.model import Breakdown, Call, Outside, Run, Source, Stage, Tool

STAGES: tuple[Stage, ...] = tuple(Stage)
OWNERS: tuple[Stage | Outside, ...] = (*Stage, *Outside)
SOURCES: tuple[Source, ...] = tuple(Source)
OWNER_NAMES, SOURCE_NAMES = tuple(o.value for o in OWNERS), tuple(s.value for s in SOURCES)
OWNER_INDEX = {owner: index for index, owner in enumerate(OWNERS)}
SOURCE_INDEX: dict[Source | None, int] = {source: index for index, source in enumerate(SOURCES)} | {None: -1}
_KINDS = tuple((owner, source) for owner in OWNER_NAMES for source in SOURCE_NAMES)  # of phases, as they are packed
# Providers and reasons to finish that most calls tell, as their conventions spell them. Stored by their place: new ones
# only at the end.
WORDS: tuple[str | None, ...] = (
    None, "stop", "tool_calls", "length", "content_filter", "error", "function_call", "tool_call", "tool-calls",
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "STOP", "MAX_TOKENS", "completed", "openai", "anthropic",
    "aws.bedrock", "azure.ai.openai", "azure.ai.inference", "gcp.gemini", "gcp.vertex_ai", "gcp.gen_ai", "mistral_ai",
    "cohere", "deepseek", "groq", "perplexity", "x_ai", "ibm.watsonx.ai", "vllm", "sglang", "ollama",
)  # fmt: skip
_WORD_INDEX = {word: index for index, word in enumerate(WORDS)}
COMPRESS_FROM_BYTES = 1_024
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode


class PhaseRow(Struct, frozen=True, gc=False):
    """Who owned an interval; offsets count from the run's start. Phases tile the run."""

    start_ns: int
    end_ns: int
    owner: str
    source: str
    span_id: str | None


def pack_summary(broken: Breakdown) -> bytes:
    """Per stage its weakest source; then what the run's columns do not tell: busy times other than the stage's, and
    the shares of stages with several sources, flat (stage, ns, …) and (stage, source, ns, …)."""
    stages_ns, sources, busy = broken.stages_ns, broken.sources, broken.busy_ns
    other_busy: list[int] = []
    shares: list[int] = []
    for index, stage in enumerate(STAGES):
        if busy[stage] != stages_ns[stage]:
            other_busy += (index, busy[stage])
        by_source = broken.sources_ns[stage]
        if len(by_source) > 1 or (by_source and sources[stage] not in by_source):
            for source, length_ns in by_source.items():
                shares += (index, SOURCE_INDEX[source], length_ns)
    return _encode(([SOURCE_INDEX[sources[stage]] for stage in STAGES], other_busy, shares))


def unpack_summary(row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """``busy_ns``, ``sources`` and ``sources_ns`` of a run's row, each by stage."""
    weakest, other_busy, shares = _decode(row["summary"])
    busy_ns = {stage.value: row[f"{stage}_ns"] for stage in STAGES}
    sources = {s.value: SOURCES[at].value if at >= 0 else None for s, at in zip(STAGES, weakest, strict=True)}
    sources_ns = {name: {source: busy_ns[name]} if source and busy_ns[name] else {} for name, source in sources.items()}
    for index in shares[::3]:
        sources_ns[STAGES[index].value] = {}
    for at in range(0, len(shares), 3):
        sources_ns[STAGES[shares[at]].value][SOURCES[shares[at + 1]].value] = shares[at + 2]
    for at in range(0, len(other_busy), 2):
        busy_ns[STAGES[other_busy[at]].value] = other_busy[at + 1]
    return {"busy_ns": busy_ns, "sources": sources, "sources_ns": sources_ns}


class CallTold(Struct, frozen=True, gc=False):
    """Of a call, by its span id, what its row leaves out."""

    parent_span_id: str | None
    transport_ns: int | None
    provider: str | None
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Detail:
    """A run's ``detail``, read. ``transports_ns`` are those of tools, by span id."""

    phases: list[PhaseRow]
    calls: Mapping[str, CallTold]
    transports_ns: Mapping[str, int]
    warnings: list[tuple[str, str, str | None]]


def pack_detail(run: Run) -> bytes:
    """Spans are named by their place: calls first, then tools, each in ``_place``'s order, in which their own rows tell
    which they are; ids of others follow. Phases tile the run, so each tells only its length."""
    calls_in_order, tools = sorted(run.calls, key=_place), sorted(run.tools, key=_place)
    span_ids = [call.span_id for call in calls_in_order] + [tool.span_id for tool in tools]
    known = len(span_ids)
    seats: dict[str | None, int] = {span_id: at for at, span_id in enumerate(span_ids)}
    others: dict[str, int] = {}

    def seat(span_id: str | None) -> int | None:
        found = seats.get(span_id)
        return others.setdefault(span_id, known + len(others)) if found is None and span_id else found

    words = dict(_WORD_INDEX)
    calls: list[int | None] = []
    for call in calls_in_order:
        calls += (
            seat(call.parent_span_id),
            call.transport_ns,
            words.setdefault(call.provider, len(words)),
            words.setdefault(call.finish_reason, len(words)),
        )
    transports = [(seats[tool.span_id], tool.transport_ns) for tool in tools if tool.transport_ns is not None]
    lengths_ns: list[int] = []
    kinds: list[int] = []
    whose: list[int | None] = []
    for phase in run.phases:
        lengths_ns.append(phase.end_unix_ns - phase.start_unix_ns)
        kinds.append(OWNER_INDEX[phase.owner] * len(SOURCES) + SOURCE_INDEX[phase.source])
        whose.append(seat(phase.span_id))
    phases = _pack_lengths(lengths_ns), bytes(kinds), whose
    warnings = [(warning.code, warning.text, warning.span_id) for warning in run.warnings]
    rare = list(words)[len(WORDS) :]
    packed = _encode((bytes.fromhex("".join(others)), phases, calls, rare, transports, warnings, known))
    return packed if len(packed) < COMPRESS_FROM_BYTES else zstandard.ZstdCompressor(3).compress(packed)


def unpack_detail(packed: bytes, span_ids: Sequence[str]) -> Detail:
    """``span_ids`` are those of the run's calls and then its tools, each by start and then by id. Raises ValueError
    where they are not as many as there were."""
    if packed.startswith(_ZSTD_MAGIC):
        packed = zstandard.ZstdDecompressor().decompress(packed)
    others, parts, told, words, transports, warnings, *known = _decode(packed)
    digits = others.hex()
    ids = [digits[at : at + 16] for at in range(0, len(digits), 16)]
    if known:
        if known[0] != len(span_ids):
            raise ValueError(f"the run has {len(span_ids)} calls and tools, and its detail tells of {known[0]}")
        ids, words = [*span_ids, *ids], [*WORDS, *words]
        lengths_ns, kinds, whose = _unpack_lengths(parts[0], len(parts[1])), parts[1], parts[2]
    else:  # by 0.1: all ids and words stood here, and phases one after another
        lengths_ns, kinds, whose = parts[::3], parts[1::3], parts[2::3]
    phases: list[PhaseRow] = []
    at_ns = 0
    for length_ns, kind, seat in zip(lengths_ns, kinds, whose, strict=True):
        owner, source = _KINDS[kind]
        end_ns = at_ns + length_ns
        phases.append(PhaseRow(at_ns, end_ns, owner, source, None if seat is None else ids[seat]))
        at_ns = end_ns
    calls = {}
    for span_id, parent, transport_ns, provider, finish_reason in zip(
        ids, told[::4], told[1::4], told[2::4], told[3::4], strict=False
    ):
        above = None if parent is None else ids[parent]
        calls[span_id] = CallTold(above, transport_ns, words[provider], words[finish_reason])
    return Detail(
        phases=phases,
        calls=calls,
        transports_ns={ids[seat]: ns for seat, ns in transports},
        warnings=[(code, text, span_id) for code, text, span_id in warnings],
    )


def _pack_lengths(lengths_ns: Sequence[int]) -> bytes:
    """Four bytes each where none takes longer than four seconds, else eight."""
    return struct.pack(f"<{len(lengths_ns)}{'Q' if max(lengths_ns, default=0) >= 1 << 32 else 'I'}", *lengths_ns)


def _unpack_lengths(packed: bytes, count: int) -> Sequence[int]:
    return struct.unpack(f"<{count}{'Q' if len(packed) > 4 * count else 'I'}", packed)


def _place(item: Call | Tool) -> tuple[int, str]:
    return item.start_unix_ns, item.span_id
