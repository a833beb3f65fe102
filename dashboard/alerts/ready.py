"""Rules to begin with, and why their thresholds are what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """``told`` is the rule as it is written; ``why`` explains its numbers."""

    key: str
    told: Mapping[str, Any]
    why: str


READY = (
    Ready(
        key="ttft",
        told={"name": "First token is late", "of": "calls.ttft", "stat": "p95", "group_by": "service", "above": "3s",
              "window": "5m", "for": "5m", "keep_firing": "5m"},
        why="Who waits notices a second and turns away after some. p95 over 5 minutes, for 5 minutes: one in twenty "
            "calls waits 3 s for its first token, and has done so for longer than a burst lasts.",
    ),
    Ready(
        key="tpot",
        told={"name": "Tokens come slowly", "of": "calls.tpot", "stat": "p95", "group_by": "model", "above": "100ms",
              "window": "5m", "for": "10m", "keep_firing": "5m"},
        why="100 ms a token are 10 tokens a second, about as fast as people read: slower, and they wait for words.",
    ),
    Ready(
        key="wall",
        told={"name": "Runs take longer than last week", "of": "runs.wall", "stat": "p95", "group_by": "service",
              "rises": "50%", "window": "30m", "for": "15m", "keep_firing": "15m"},
        why="How long a run may take differs from agent to agent, so it is compared with itself, at the same time of "
            "the same weekday. Half as much again is more than weeks differ by themselves.",
    ),
    Ready(
        key="errors",
        told={"name": "Runs fail", "of": "runs.error_rate", "group_by": "service", "above": "5%", "window": "10m",
              "for": "5m", "keep_firing": "10m", "severity": "critical"},
        why="One run in twenty. Providers' own failures are mostly below 1 %; at least 20 runs must have ended.",
    ),
    Ready(
        key="tools",
        told={"name": "A tool fails", "of": "tools.failure_rate", "group_by": "tool", "above": "5%", "window": "15m",
              "for": "5m", "keep_firing": "10m"},
        why="A failed tool costs a whole round: the model reads the error and asks again. From 5 % on that is felt in "
            "wall times; 15 minutes, so that rare tools have their 20 calls.",
    ),
    Ready(
        key="cache",
        told={"name": "Prompt cache is missed", "of": "calls.cache_hit_rate", "group_by": "model", "falls": "30%",
              "window": "30m", "for": "15m", "keep_firing": "15m"},
        why="The rate differs with prompts, so it is compared with last week's. A third less mostly means "
            "that something which changes, such as a date, now begins the prompt: each call pays for it.",
    ),
    Ready(
        key="queue",
        told={"name": "Requests queue in an engine", "of": "engine.queue", "stat": "p95", "above": "1s", "window": "5m",
              "for": "5m", "keep_firing": "5m"},
        why="A healthy engine schedules within a step, which is tens of milliseconds. A second means that it has more "
            "to do than it can; each round of a run pays it again.",
    ),
    Ready(
        key="kv",
        told={"name": "KV cache is full", "of": "engine.kv_usage", "stat": "mean", "above": "95%", "window": "5m",
              "for": "10m", "keep_firing": "5m"},
        why="Above it an engine begins to evict and to preempt, and computes again what it knew.",
    ),
    Ready(
        key="engine",
        told={"name": "An engine is down", "of": "engine.up", "below": "50%", "window": "2m", "for": "1m",
              "severity": "critical"},
        why="Every other scrape of two minutes fails. Single failures are networks; half of 24 are not.",
    ),
    Ready(
        key="nothing",
        told={"name": "No runs come", "of": "runs.count", "absent": True, "window": "15m", "severity": "critical"},
        why="Nothing at all for 15 minutes. Make it longer where nights are quiet, or mute it then.",
    ),
)  # fmt: skip
BY_KEY = {ready.key: ready for ready in READY}
