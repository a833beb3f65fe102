"""Weeks of made-up traffic with a cause planted in each, written as workers write. The report never sees this file.

Four services with two models and some tools; every figure is drawn log-normally about its usual value. A week's plan
changes one usual value from some day on, or only how often services run, or nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from dashboard.reports.core.weeks import Week
from ingest.models import Project
from ingest.rollups.applying import write_deltas
from ingest.rollups.counting import CALL_TOLD, RUN_TOLD, TOOL_TOLD, Gathered
from ingest.rollups.folding import fold_all
from ingest.stored import direct_cursor

MS, SECOND_NS, MINUTE_NS, HOUR_NS = 10**6, 10**9, 60 * 10**9, 3600 * 10**9


@dataclass(frozen=True, kw_only=True)
class Service:
    """Usual values: shares of the runs, calls a run, milliseconds, tokens."""

    weight: float
    calls: int
    model: str
    tool: str
    tool_ms: float
    prompt: int
    answer: int
    hit_rate: float


USUAL = {
    "support": Service(
        weight=40, calls=2, model="large-2", tool="search_kb", tool_ms=900, prompt=3000, answer=220, hit_rate=0.7
    ),
    "checkout": Service(
        weight=30, calls=2, model="small-1", tool="reserve", tool_ms=500, prompt=1200, answer=80, hit_rate=0.6
    ),
    "research": Service(
        weight=8, calls=5, model="large-2", tool="fetch_page", tool_ms=1600, prompt=6000, answer=400, hit_rate=0.5
    ),
    "triage": Service(
        weight=22, calls=1, model="small-1", tool="label", tool_ms=120, prompt=900, answer=60, hit_rate=0.4
    ),
}  # fmt: skip
SPEED = {"large-2": (0.25, 18.0), "small-1": (0.10, 9.0), "large-3": (0.42, 31.0)}  # ms an uncached token, ms a token


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is planted: ``changed`` are fields of a service from the week's day ``from_day`` on; ``cause`` is a word
    that the report must say, None for a quiet week."""

    cause: str | None
    service: str = ""
    changed: dict[str, Any] = field(default_factory=dict)
    from_day: int = 0
    slower: bool = True


def plans(chance: random.Random) -> list[Plan]:
    """Eight weeks: four changes, of which the slow tool comes in the midst of a week and goes with it, so that the week
    after is one of getting better; the others stay, and the weeks after them are quiet."""
    slowed = chance.choice(["support", "checkout", "research"])
    cooled = chance.choice(["support", "research"])
    swapped = chance.choice(["checkout", "support"])
    slow_ms = USUAL[slowed].tool_ms * chance.uniform(2.5, 4)
    tool = [
        Plan(cause=USUAL[slowed].tool, service=slowed, changed={"tool_ms": slow_ms}, from_day=chance.randint(1, 3)),
        Plan(cause=USUAL[slowed].tool, service=slowed, changed={"tool_ms": USUAL[slowed].tool_ms}, slower=False),
    ]
    staying = [
        Plan(cause="cache", service=cooled, changed={"hit_rate": chance.uniform(0.02, 0.1)}),
        Plan(cause="large-3", service=swapped, changed={"model": "large-3"}),
        Plan(
            cause="research’s", service="research", changed={"weight": USUAL["research"].weight * chance.uniform(4, 6)}
        ),
    ]
    chance.shuffle(staying)
    pairs = [tool, *([Plan(cause=None), plan] for plan in staying)]
    chance.shuffle(pairs)
    return [plan for pair in pairs for plan in pair]


class Traffic:
    """Writes weeks, one after the other; what was planted stays until it is changed again. Runs end in one minute of
    some hours a day, so that there is less to fold."""

    def __init__(self, project: Project, seed: int, runs_a_week: int) -> None:
        self.project, self.chance, self.runs = project, random.Random(seed), runs_a_week
        self.usual = dict(USUAL)

    def write(self, week: Week, plan: Plan) -> None:
        """A week under its plan."""
        zone = ZoneInfo(self.project.zone)
        bounds = week.day_bounds_ns(zone)
        later = dict(self.usual)
        if plan.service:
            later[plan.service] = replace(later[plan.service], **plan.changed)
        gathered = Gathered()
        for day in range(7):
            services = later if day >= plan.from_day else self.usual
            for _ in range(round(self.runs * (0.16 if day < 5 else 0.1))):
                end_ns = bounds[day] + self.chance.randrange(0, 23, 6) * HOUR_NS + self.chance.randrange(MINUTE_NS)
                gathered.add(*self._run(services, end_ns), 1)
        with direct_cursor() as cursor:
            write_deltas(cursor, gathered)
        fold_all()
        self.usual = later

    def _drawn(self, usual: float, spread: float = 0.35) -> float:
        return usual * math.exp(self.chance.gauss(0, spread) - spread**2 / 2)

    def _run(self, services: dict[str, Service], end_ns: int) -> tuple[list[Any], list[Any], list[Any]]:
        chance = self.chance
        name = chance.choices(list(services), [s.weight for s in services.values()])[0]
        service = services[name]
        trace_id, root = chance.randbytes(16), chance.randbytes(8)
        owners = dict.fromkeys(("prefill", "decode", "tool_parsing", "tool_execution", "re_encoding", "continue_decode",
                                "queue", "transport", "model_unsplit", "orchestration"), 0)  # fmt: skip
        calls, tools, tokens = [], [], [0, 0, 0]
        ident = {"project_id": self.project.pk, "trace_id": trace_id, "root_span_id": root}
        first_ns = 0
        for number in range(max(1, round(self._drawn(service.calls, 0.2)))):
            prompt, answer = round(self._drawn(service.prompt)), max(2, round(self._drawn(service.answer)))
            hit = min(0.98, max(0.0, chance.gauss(service.hit_rate, 0.08)))
            cached = round(prompt * hit)
            per_token, per_output = SPEED[service.model]
            prefill = round(self._drawn(40 + (prompt - cached) * per_token, 0.15) * MS)
            tpot = round(self._drawn(per_output, 0.1) * MS)
            decode = tpot * (answer - 1)
            queue = round(self._drawn(8) * MS)
            again = number > 0
            owners["re_encoding" if again else "prefill"] += prefill
            owners["continue_decode" if again else "decode"] += decode
            owners["queue"] += queue
            tokens = [tokens[0] + prompt, tokens[1] + cached, tokens[2] + answer]
            first_ns = first_ns or prefill + queue
            calls.append(_row(
                CALL_TOLD, ident, start_unix_ns=end_ns - queue - prefill - decode, end_unix_ns=end_ns, source=1,
                model=service.model, engine="vllm", queue_ns=queue, prefill_ns=prefill, decode_ns=decode,
                ttft_ns=prefill + queue, tpot_ns=tpot, input_tokens=prompt, cached_tokens=cached, output_tokens=answer,
            ))  # fmt: skip
            if number < service.calls - 1 or service.calls == 1:
                took = round(self._drawn(service.tool_ms) * MS)
                owners["tool_execution"] += took
                owners["tool_parsing"] += 3 * MS
                tools.append(_row(TOOL_TOLD, ident, start_unix_ns=end_ns - took, end_unix_ns=end_ns,
                                  ok=chance.random() > 0.02, pseudo=False, name=service.tool))  # fmt: skip
        owners["orchestration"] = round(self._drawn(30) * MS)
        wall = sum(owners.values())
        run = _row(
            RUN_TOLD, ident, end_unix_ns=end_ns, failed=chance.random() < 0.015, root_ended=True, environment="prod",
            service=name, version="1", agent=f"{name}-agent", engine="vllm", model_names=[service.model], wall_ns=wall,
            ttft_ns=wall // 2, first_token_ns=first_ns, ttft_sum_ns=first_ns, input_tokens=tokens[0],
            cached_tokens=tokens[1], output_tokens=tokens[2], **{f"{owner}_ns": ns for owner, ns in owners.items()},
        )  # fmt: skip
        return [run], calls, tools


def _row(columns: tuple[str, ...], ident: dict[str, Any], **values: Any) -> tuple[Any, ...]:
    told = {**ident, **values}
    return tuple(told.get(column) for column in columns)


def eight_weeks(project: Project, seed: int, runs_a_week: int = 1600) -> Iterator[tuple[Week, Plan]]:
    """Writes a week before them and eight planted ones, telling each with its plan when it is written."""
    traffic = Traffic(project, seed, runs_a_week)
    first = Week(2026, 36)
    traffic.write(first, Plan(cause=None))
    for number, plan in enumerate(plans(random.Random(seed)), 1):
        week = first.shifted(number)
        traffic.write(week, plan)
        yield week, plan
