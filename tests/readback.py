"""All runs of an instance through its API, held against what a load generator knows of its traces."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx

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


def _figures(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run in the generator's words. Its calls all belong to one scope, so rounds are calls."""
    same = ("wall_ns", "input_tokens", "cached_tokens", "output_tokens", "spans", "agent")
    told = {"calls": run["rounds"], "tools": run["tool_count"], "failed": run["tool_failures"]}
    return told | {name: run[name] for name in same}
