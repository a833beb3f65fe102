"""Deploys, as they are told and as the first runs of a version tell them."""

from __future__ import annotations

import random

import pytest
from django.test import Client

from ingest.models import Project
from ingest.read.deploys import SEEN, TOLD, read_deploys
from ingest.rollups.folding import fold_all
from ingest.scope import Scope
from ingest.stages.model import Run
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, utc

pytestmark = pytest.mark.django_db

NOON = utc(2025, 11, 20, 12, 0)
HOURS, DAYS = 3600 * SECOND_NS, 86_400 * SECOND_NS


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha", zone="Asia/Kolkata")


def runs(service: str, version: str | None, first_ns: int, last_ns: int, begin: int) -> list[Run]:
    chance = random.Random(begin)
    ends = [first_ns, *(chance.randrange(first_ns, last_ns) for _ in range(6))]
    return [drawn(chance, begin + at, end, service=service, version=version) for at, end in enumerate(ends)]


def store(project: Project, *groups: list[Run]) -> None:
    keep(project, [run for group in groups for run in group])
    fold_all()


def told(project: Project, from_ns: int, to_ns: int) -> list[tuple[str, str, int, str]]:
    found = read_deploys(Scope(project_id=project.pk), from_ns, to_ns)
    return [(one.service, one.version, one.at_unix_ns, one.source) for one in found]


def test_a_version_counts_from_its_first_run_if_the_service_was_there_before(project: Project) -> None:
    second = runs("shop", "2", NOON, NOON + 3 * HOURS, 100)
    store(
        project,
        runs("shop", "1", NOON - 9 * DAYS, NOON + 2 * HOURS, 0), second,
        runs("desk", "7", NOON - 2 * HOURS, NOON + HOURS, 200),  # new, so nothing that it could be compared with
        runs("lab", None, NOON - 3 * DAYS, NOON - 2 * DAYS, 300), runs("lab", "1", NOON - DAYS, NOON, 400),
    )  # fmt: skip
    began = min(run.start_unix_ns for run in second if run.end_unix_ns < NOON + HOURS)
    lab, shop = told(project, NOON - 2 * DAYS, NOON + DAYS)
    assert lab[:2] == ("lab", "1")
    assert shop == ("shop", "2", began, SEEN)
    assert told(project, began + 1, NOON + DAYS) == []
    assert told(project, began, began + 1) == [shop]


def test_a_version_that_went_on_all_the_time_is_no_news_and_one_long_gone_is(project: Project) -> None:
    store(
        project,
        runs("shop", "1", NOON - 90 * DAYS, NOON - 80 * DAYS, 0),
        runs("shop", "2", NOON - 20 * DAYS, NOON + HOURS, 100),
        runs("shop", "1", NOON, NOON + HOURS, 200),
    )
    assert [(service, version) for service, version, _, _ in told(project, NOON - DAYS, NOON + DAYS)] == [("shop", "1")]


def test_one_that_was_told_stands_in_for_the_one_that_was_seen(project: Project) -> None:
    store(
        project,
        runs("shop", "1", NOON - 2 * DAYS, NOON, 0),
        runs("shop", "2", NOON + 10 * SECOND_NS, NOON + HOURS, 100),
    )
    client = Client()
    body = {"service": "shop", "version": "2", "at_unix_ns": str(NOON - 60 * SECOND_NS)}
    for _ in range(2):
        answer = client.post("/api/v1/deploys", body, content_type="application/json")
        assert answer.status_code == 201, answer.content
    assert told(project, NOON - HOURS, NOON + HOURS) == [("shop", "2", NOON - 60 * SECOND_NS, TOLD)]
    listed = client.get("/api/v1/deploys", {"from": NOON - HOURS, "to": NOON + HOURS}).json()
    assert listed == {"deploys": [{**body, "source": TOLD}]}


NO_DEPLOYS = [{"service": "", "version": "1"}, {"service": "a\0", "version": "1"}, {"version": "1"}]


@pytest.mark.parametrize("body", NO_DEPLOYS)
def test_what_is_no_deploy_is_refused(project: Project, body: dict[str, str]) -> None:
    assert Client().post("/api/v1/deploys", body, content_type="application/json").status_code == 422
