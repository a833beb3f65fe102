"""What an instance has stored and shows, held against what a load generator knows of its traces."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx
import psycopg
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from zstandard import ZstdCompressionDict, ZstdDecompressor, get_frame_parameters

Truth = Mapping[str, Any]
PAGE_RUNS = 500


def wrong_runs(api: httpx.Client, truths: Mapping[str, Truth]) -> list[str]:
    """What is wrong, a sentence each; empty when every trace has one exact run with its truth's figures."""
    faults: list[str] = []
    missing = dict(truths)
    for run in all_runs(api):
        truth = missing.pop(run["trace_id"], None)
        if sum(run["stages_ns"].values()) + sum(run["outside_ns"].values()) != run["wall_ns"]:
            faults.append(f"run {run['run_id']} does not add up")
        if truth is None and run["trace_id"] in truths:
            faults.append(f"trace {run['trace_id']} has more than one run")
        elif truth is not None:
            faults += [
                f"run {run['run_id']}: {name} is {got}, not {truth[name]}"
                for name, got in _figures(run).items()
                if got != truth[name]
            ]
    return faults + [f"trace {trace_id} has no run" for trace_id in missing]


def all_runs(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """Every run, page by page."""
    query = {"limit": str(PAGE_RUNS)}
    while True:
        page = api.get("/runs", params=query).raise_for_status().json()
        yield from page["runs"]
        if page["next_cursor"] is None:
            return
        query["cursor"] = page["next_cursor"]


def stored_spans(database: psycopg.Connection, trace_ids: Sequence[bytes]) -> Counter[str]:
    """How often each span of these traces is stored. Read without the product's own code."""
    found = database.execute("SELECT body FROM ingest_chunk WHERE trace_id = ANY(%s)", [trace_ids])
    dictionaries = database.execute("SELECT id, body FROM ingest_dictionary")
    kept = {number: ZstdCompressionDict(body) for number, body in dictionaries}
    return Counter(
        span.span_id.hex()
        for (body,) in found
        for resource_spans in TracesData.FromString(_unfolded(body, kept)).resource_spans
        for scope_spans in resource_spans.scope_spans
        for span in scope_spans.spans
    )


def _unfolded(body: bytes, dictionaries: Mapping[int, ZstdCompressionDict]) -> bytes:
    return ZstdDecompressor(dict_data=dictionaries.get(get_frame_parameters(body).dict_id)).decompress(body)


def is_idle(database: psycopg.Connection) -> bool:
    """Whether every trace is decomposed."""
    return database.execute("SELECT NOT EXISTS (SELECT FROM ingest_dirty_trace)").fetchone() == (True,)


def _figures(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run in the generator's words. Its calls all belong to one scope, so rounds are calls."""
    same = ("wall_ns", "input_tokens", "cached_tokens", "output_tokens", "spans", "agent")
    told = {"calls": run["rounds"], "tools": run["tool_count"], "failed": run["tool_failures"]}
    return told | {name: run[name] for name in same}
