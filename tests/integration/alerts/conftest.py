from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dashboard.alerts.bundling import bundle_due, remind
from dashboard.alerts.channels import save_channel
from dashboard.alerts.evaluating import evaluate_due
from dashboard.alerts.models import AlertRule, Channel
from dashboard.alerts.rules import save_rule
from dashboard.alerts.sending import send_due
from ingest.models import Project
from ingest.rollups.folding import count_all, fold
from ingest.stages.model import Breakdown, Outside, Run, Source, Stage
from tests.integration.alerts.clock import MINUTE_NS, NOON, SECOND_NS, minute_ns
from tests.integration.alerts.receivers import MailServer, Receiver, mailing, receiving
from tests.integration.rollups.drawn_runs import drawn, keep

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
Traffic = Callable[..., None]
Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def local_instance(settings: Any) -> None:
    settings.SIXSTAGE_EMBEDDED = True
    settings.SIXSTAGE_OPEN = True
    settings.SIXSTAGE_ENCRYPTION_KEY = KEY


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def mail(settings: Any) -> Iterator[MailServer]:
    with mailing(settings, "Sixstage <alerts@sixstage.example.org>") as server:
        yield server


@pytest.fixture
def traffic(project: Project) -> Traffic:
    """``traffic(from_minute, to_minute, …)``: so many runs in each minute after noon, of a wall time in seconds."""
    chance = random.Random(5)
    number = iter(range(1, 1_000_000))

    def send(first: int, last: int, *, each: int = 30, wall_s: float = 2.0, **fields: Any) -> None:
        runs = []
        for minute in range(first, last):
            for at in range(each):
                end_ns = NOON + minute * MINUTE_NS + at * (MINUTE_NS // each) + 1
                runs.append(_run(chance, next(number), end_ns, wall_s, fields))
        keep(project, runs, batch=500)
        count_all()
        fold()

    return send


def _run(chance: random.Random, number: int, end_ns: int, wall_s: float, fields: dict[str, Any]) -> Run:
    wall_ns = round(wall_s * chance.uniform(0.9, 1.1) * SECOND_NS)
    stages = dict.fromkeys(Stage, 0) | {Stage.PREFILL: wall_ns // 4, Stage.DECODE: wall_ns - wall_ns // 4}
    made = Breakdown(
        wall_ns=wall_ns, stages_ns=stages, outside_ns=dict.fromkeys(Outside, 0), busy_ns=stages,
        sources=dict.fromkeys(Stage, Source.CLIENT), sources_ns={s: {Source.CLIENT: ns} for s, ns in stages.items()},
    )  # fmt: skip
    usual = {
        "breakdown": made, "start_unix_ns": end_ns - wall_ns, "calls": (), "tools": (), "status": "ok", "error": None,
        "service": "shop", "root_ended": True, "ttft_ns": wall_ns // 4,
    }  # fmt: skip
    return drawn(chance, number, end_ns, **usual | fields)


@pytest.fixture
def rule(project: Project) -> Make:
    """A rule that has been evaluated up to noon."""

    def make(**told: Any) -> AlertRule:
        usual = {"name": "slow", "of": "runs.wall", "above": "5s", "for": "2m", "window": "3m", "wait": "0s"}
        if {"burns", "below", "rises", "falls", "absent"} & set(told):
            del usual["above"]
        if "burns" in told:
            del usual["of"]
        return save_rule(project, usual | told, NOON, evaluated_unix_ns=NOON)

    return make


@pytest.fixture
def channel(project: Project) -> Make:
    def make(notifier: str = "webhook", name: str = "", **given: Any) -> Channel:
        return save_channel(project, {"name": name or notifier, "notifier": notifier, **given})

    return make


def tick(minute: float, *, send: bool = True) -> None:
    """What the tasks do, half a minute after a minute after noon."""
    now_ns = minute_ns(minute)
    evaluate_due(now_ns)
    remind(now_ns)
    if send:
        bundle_due(now_ns)
        send_due(now_ns)


def ticks(first: int, last: int) -> None:
    for minute in range(first, last):
        tick(minute)
