"""What of a run is shown and never filtered by, packed into two byte columns.

``summary`` is read with every row of a list: busy times and sources by stage. ``detail`` is read by the run's page:
phases, warnings, and of each call and tool what no figure is counted by. As JSON, and as columns of calls and tools,
the same took four times the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import zstandard

from ingest.stages.model import Breakdown, Outside, Run, Source, Stage

STAGES: tuple[Stage, ...] = tuple(Stage)
OWNERS: tuple[Stage | Outside, ...] = (*Stage, *Outside)
SOURCES: tuple[Source, ...] = tuple(Source)
OWNER_INDEX = {owner: index for index, owner in enumerate(OWNERS)}
SOURCE_INDEX: dict[Source | None, int] = {source: index for index, source in enumerate(SOURCES)} | {None: -1}
COMPRESS_FROM_BYTES = 1_024
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode

PhaseTold = tuple[int, int, str, str, str | None]  # start and end from the run's start, owner, source, span id


def pack_summary(broken: Breakdown) -> bytes:
    """Busy time and weakest source of each stage, and how much came from which: flat (stage, source, ns, …)."""
    busy, sources = broken.busy_ns, broken.sources
    parts: list[int] = []
    for stage, by_source in broken.sources_ns.items():
        for source, length_ns in by_source.items():
            parts += (OWNER_INDEX[stage], SOURCE_INDEX[source], length_ns)
    return _encode(([busy[stage] for stage in STAGES], [SOURCE_INDEX[sources[stage]] for stage in STAGES], parts))


def unpack_summary(packed: bytes) -> dict[str, dict[str, Any]]:
    """``busy_ns``, ``sources`` and ``sources_ns`` of a run, each by stage."""
    busy, sources, parts = _decode(packed)
    sources_ns: dict[str, dict[str, int]] = {stage.value: {} for stage in STAGES}
    for at in range(0, len(parts), 3):
        sources_ns[OWNERS[parts[at]].value][SOURCES[parts[at + 1]].value] = parts[at + 2]
    return {
        "busy_ns": {stage.value: ns for stage, ns in zip(STAGES, busy, strict=True)},
        "sources": {
            stage.value: SOURCES[index].value if index >= 0 else None
            for stage, index in zip(STAGES, sources, strict=True)
        },
        "sources_ns": sources_ns,
    }


@dataclass(frozen=True, slots=True)
class CallTold:
    """Of a call, by its span id, what its row leaves out."""

    parent_span_id: str | None
    transport_ns: int | None
    provider: str | None
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Detail:
    """A run's ``detail``, read. ``transports_ns`` are those of tools, by span id."""

    phases: list[PhaseTold]
    calls: Mapping[str, CallTold]
    transports_ns: Mapping[str, int]
    warnings: list[tuple[str, str, str | None]]


def pack_detail(run: Run) -> bytes:
    """Spans are named by their place among ``ids``, calls first; phases tile the run, so each tells only its length."""
    seats = {call.span_id: seat for seat, call in enumerate(run.calls)}
    calls = [
        (
            bytes.fromhex(call.parent_span_id) if call.parent_span_id else None,
            call.transport_ns,
            call.provider,
            call.finish_reason,
        )
        for call in run.calls
    ]
    transports = [
        (seats.setdefault(tool.span_id, len(seats)), tool.transport_ns)
        for tool in run.tools
        if tool.transport_ns is not None
    ]
    phases: list[int | None] = []
    for phase in run.phases:
        span_id = phase.span_id
        seat = None if span_id is None else seats.setdefault(span_id, len(seats))
        kind = OWNER_INDEX[phase.owner] * len(SOURCES) + SOURCE_INDEX[phase.source]
        phases += (phase.end_unix_ns - phase.start_unix_ns, kind, seat)
    ids = bytes.fromhex("".join(seats))
    packed = _encode((ids, phases, calls, transports, [(w.code, w.text, w.span_id) for w in run.warnings]))
    return packed if len(packed) < COMPRESS_FROM_BYTES else zstandard.ZstdCompressor(3).compress(packed)


def unpack_detail(packed: bytes) -> Detail:
    if packed.startswith(_ZSTD_MAGIC):
        packed = zstandard.ZstdDecompressor().decompress(packed)
    raw, lengths, calls, transports, warnings = _decode(packed)
    ids = [raw[at : at + 8].hex() for at in range(0, len(raw), 8)]
    phases: list[PhaseTold] = []
    at_ns = 0
    for at in range(0, len(lengths), 3):
        length_ns, kind, seat = lengths[at : at + 3]
        owner, source = divmod(kind, len(SOURCES))
        phases.append((
            at_ns, at_ns + length_ns, OWNERS[owner].value, SOURCES[source].value, None if seat is None else ids[seat]
        ))  # fmt: skip
        at_ns += length_ns
    return Detail(
        phases=phases,
        calls={
            ids[seat]: CallTold(parent.hex() if parent else None, *rest) for seat, (parent, *rest) in enumerate(calls)
        },
        transports_ns={ids[seat]: ns for seat, ns in transports},
        warnings=[(code, text, span_id) for code, text, span_id in warnings],
    )
