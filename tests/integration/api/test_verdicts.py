"""What a run's verdict says, worked out again from the other fields of the API's answer, for runs of real emitters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async

from ingest.decomposing import decompose_dirty
from tests.captures import captures

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = {
    "openllmetry-openai-long", "otel-genai-openai-llmretry", "otel-genai-openai-timeout",
    "otel-genai-langchain-subagent",
    "pydantic-ai-nostream", "strands-serial", "vercel-ai-sdk-fail", "openinference-langgraph-serial-agent",
    "otel-genai-noprop-queue", "otel-genai-http-cold-prefix", "otel-genai-http-parallel-tools", "autogen-serial",
}  # fmt: skip
CAPTURES = [capture for part in ("corpus", "joined") for capture in captures(part) if capture.name in NAMES]
Run = dict[str, Any]
MODEL_INPUT = ("prefill", "re_encoding")


def waited(run: Run, spans: Iterable[str], *owners: str) -> int:
    of = set(spans)
    return sum(p["end_ns"] - p["start_ns"] for p in run["phases"] if p["span_id"] in of and p["owner"] in owners)


def facts(run: Run, finding: Run, kind: str) -> list[Run]:
    """The calls or tools that a finding is about."""
    return [fact for fact in run[kind] if fact["span_id"] in finding["spans"]]


def all_ns(run: Run) -> dict[str, int]:
    return {**run["stages_ns"], **run["outside_ns"]}


def cold_cache(run: Run, finding: Run) -> Run:
    repeated = missed = held = saves = 0
    calls = facts(run, finding, "calls")
    for call in calls:
        before = [c for c in run["calls"] if (c["scope"], c["model"]) == (call["scope"], call["model"])]
        last = before[before.index(call) - 1]
        tokens = min(call["input_tokens"], last["input_tokens"] + (last["output_tokens"] or 0))
        repeated, held, missed = (
            repeated + tokens,
            held + call["cached_tokens"],
            missed + tokens - call["cached_tokens"],
        )
        uncached = call["input_tokens"] - call["cached_tokens"]
        saves += waited(run, [call["span_id"]], *MODEL_INPUT) * (tokens - call["cached_tokens"]) // uncached
    return {
        "calls": len(calls), "repeated_tokens": repeated, "missed_tokens": missed, "cached_tokens": held,
        "waited_ns": waited(run, finding["spans"], *MODEL_INPUT), "share_held": held / repeated, "saves": saves,
    }  # fmt: skip


def rounds_ttft(run: Run, finding: Run) -> Run:
    ttfts = [c["ttft_ns"] for c in run["calls"] if c["scope"] == 0 and c["ttft_ns"] is not None]
    return {
        "rounds": len(ttfts), "ttft_sum_ns": sum(ttfts), "mean_ns": sum(ttfts) // len(ttfts), "longest_ns": max(ttfts),
        "share": sum(ttfts) / run["wall_ns"], "saves": sum(ttfts) - max(ttfts),
    }  # fmt: skip


def serial_tools(run: Run, finding: Run) -> Run:
    by_round: dict[tuple[int, int], list[int]] = {}
    for tool in facts(run, finding, "tools"):
        by_round.setdefault((tool["scope"], tool["round"]), []).append(tool["wall_ns"])
    spent, longest = sum(map(sum, by_round.values())), sum(map(max, by_round.values()))
    return {
        "tools": len(finding["spans"]), "rounds": len(by_round), "spent_ns": spent, "longest_ns": longest,
        "saves": spent - longest,
    }  # fmt: skip


def cached_share(run: Run, finding: Run) -> Run:
    calls = facts(run, finding, "calls")
    asked, held = sum(c["input_tokens"] for c in calls), sum(c["cached_tokens"] for c in calls)
    return {"calls": len(calls), "input_tokens": asked, "cached_tokens": held, "share": held / asked}


def written_tokens(run: Run, finding: Run) -> Run:
    calls = facts(run, finding, "calls")
    tokens = sum(c["output_tokens"] for c in calls)
    ns = sum(c["tpot_ns"] * (c["output_tokens"] - 1) for c in calls)
    return {"calls": len(calls), "output_tokens": tokens, "tpot_ns": ns // (tokens - len(calls))}


def queue_of(source: bool) -> Callable[[Run, Run], Run]:
    def queue(run: Run, finding: Run) -> Run:
        own = [p for p in run["phases"] if p["owner"] == "queue" and (p["source"] == "client") == source]
        ns = sum(p["end_ns"] - p["start_ns"] for p in own)
        told: Run = {"ns": ns, "share": ns / run["wall_ns"], "saves": ns}
        if not source:
            told["calls"] = len(finding["spans"])
        return told

    return queue


def longest_gap(run: Run) -> int:
    longest = length = 0
    for phase in run["phases"]:
        length = length + phase["end_ns"] - phase["start_ns"] if phase["owner"] == "orchestration" else 0
        longest = max(longest, length)
    return longest


def tools_that(run: Run, finding: Run) -> tuple[int, int]:
    return len([t for t in run["tools"] if not t["pseudo"]]), waited(run, finding["spans"], "tool_execution")


AGAIN: dict[str, Callable[[Run, Run], Run]] = {
    "cost_most": lambda run, f: {
        "ns": max(all_ns(run).values()), "share": all_ns(run)[f["owner"]] / run["wall_ns"], "wall_ns": run["wall_ns"],
    },
    "cost_next": lambda run, f: {
        "ns": sorted(all_ns(run).values())[-2], "share": all_ns(run)[f["owner"]] / run["wall_ns"],
    },
    "cold_cache": cold_cache,
    "rounds_ttft": rounds_ttft,
    "serial_tools": serial_tools,
    "cached_share": cached_share,
    "written_tokens": written_tokens,
    "engine_queue": queue_of(source=False),
    "own_queue": queue_of(source=True),
    "longest_call": lambda run, f: {
        "ns": max(waited(run, [c["span_id"]], f["owner"]) for c in run["calls"]),
        "calls": len([c for c in run["calls"] if waited(run, [c["span_id"]], f["owner"])]),
    },
    "unsplit": lambda run, f: {"calls": len(f["spans"]), "ns": waited(run, f["spans"], "model_unsplit")},
    "call_retries": lambda run, f: {
        "calls": len(f["spans"]), "attempts": sum(c["attempts"] for c in facts(run, f, "calls")),
        "failed_ns": waited(
            run, [c["span_id"] for c in facts(run, f, "calls") if c["source"] != "unknown"], "model_unsplit"
        ),
    },
    "longest_tool": lambda run, f: {
        "ns": waited(run, f["spans"], "tool_execution"),
        "tools": len([t for t in run["tools"] if not t["pseudo"] and not t["agent"]]),
        "share": waited(run, f["spans"], "tool_execution") / run["stages_ns"]["tool_execution"],
    },
    "failed_tools": lambda run, f: {
        "failed": len([t for t in run["tools"] if t["ok"] is False and not t["pseudo"]]),
        "tools": tools_that(run, f)[0],
        "ns": tools_that(run, f)[1], "saves": tools_that(run, f)[1] or None,
    },
    "abandoned_tools": lambda run, f: {
        "tools": len([t for t in run["tools"] if t["abandoned"]]), "ns": tools_that(run, f)[1],
        "saves": tools_that(run, f)[1] or None,
    },
    "tool_retries": lambda run, f: {
        "tools": len(f["spans"]), "attempts": sum(t["attempts"] for t in facts(run, f, "tools")),
        "ns": tools_that(run, f)[1],
    },
    "own_code": lambda run, f: {
        "ns": run["outside_ns"]["orchestration"], "share": run["outside_ns"]["orchestration"] / run["wall_ns"],
        "longest_ns": longest_gap(run), "saves": run["outside_ns"]["orchestration"],
    },
    "no_model_call": lambda run, f: {"ns": run["outside_ns"]["orchestration"]},
    "parsing": lambda run, f: {
        "ns": run["stages_ns"]["tool_parsing"], "rounds": run["rounds"], "tools": run["tool_count"],
        "saves": run["stages_ns"]["tool_parsing"],
    },
    "transport": lambda run, f: {
        "ns": run["outside_ns"]["transport"], "share": run["outside_ns"]["transport"] / run["wall_ns"],
        "saves": run["outside_ns"]["transport"],
    },
    "estimated": lambda run, f: {
        "ns": sum(by_source.get("estimated", 0) for by_source in run["sources_ns"].values())
    },
}  # fmt: skip


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
async def test_every_number_of_a_verdict_follows_from_the_rest_of_the_answer(
    web: httpx.AsyncClient, capture: Any
) -> None:
    for body in capture.bodies:
        kind = "application/json" if body.is_json else "application/x-protobuf"
        answer = await web.post(f"/v1/{body.signal}", content=body.content(), headers={"content-type": kind})
        assert answer.status_code == 200
    await sync_to_async(decompose_dirty)(time.time_ns(), 10**9)
    found = 0
    for run_id in {r["run_id"] for r in (await web.get("/api/v1/runs", params={"from": 0})).json()["runs"]}:
        run = (await web.get(f"/api/v1/runs/{run_id}")).json()
        for finding in (run["verdict"]["headline"], *run["verdict"]["findings"]):
            again = AGAIN[finding["code"]](run, finding)
            assert finding["saves_at_most_ns"] == again.pop("saves", finding["saves_at_most_ns"]), finding
            told = {name: number for name, number in finding["numbers"].items() if not name.startswith("most_")}
            assert told == again, finding
            assert (finding["saves_at_most_ns"] or 0) <= run["wall_ns"]
            found += 1
    assert found > 1
