"""Who may send: with a key on a closed instance, without one on an open one."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from dashboard.models import ReadToken
from ingest.models import IngestKey, Project
from ingest.otlp import keys
from ingest.otlp.receiver import Receiver
from tests.integration.otlp.messages import JSON, PROTOBUF, body, span, status_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def key(project: Project) -> str:
    return IngestKey.issue(project, "a key")[1]


@pytest.fixture
def closed(receiver: Receiver) -> Receiver:
    receiver.keys.open_instance = False
    return receiver


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def send(web: httpx.AsyncClient, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await web.post("/v1/traces", content=body(span()), headers=PROTOBUF | named)


async def test_a_key_is_taken_wherever_an_sdk_puts_it(web: httpx.AsyncClient, closed: Receiver, key: str) -> None:
    for headers in (
        {"authorization": f"Bearer {key}"},
        {"authorization": f"bearer  {key} "},
        {"x_api_key": key},
        {"authorization": basic("public", key)},
        {"authorization": basic(key, "anything")},
    ):
        assert (await send(web, **headers)).status_code == 200, headers


async def test_without_a_good_key_it_is_401_in_the_requests_encoding(
    web: httpx.AsyncClient, closed: Receiver, key: str
) -> None:
    for headers in (
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer sxi_wrong"},
        {"authorization": f"Digest {key}"},
        {"authorization": "Basic not-base64!"},
        {"authorization": basic("a", "b")},
        {"x_api_key": key[:-1]},
    ):
        response = await send(web, **headers)
        assert response.status_code == 401, headers
        assert status_of(response)[0] == 16
    assert (await web.post("/v1/traces", content=b"{}", headers=JSON)).json()["code"] == 16


async def test_a_read_token_cannot_send(web: httpx.AsyncClient, closed: Receiver, project: Project) -> None:
    _, secret = await sync_to_async(ReadToken.issue)(project, "a token")
    response = await send(web, authorization=f"Bearer {secret}")
    assert response.status_code == 401
    assert "read token" in status_of(response)[1]


async def test_a_revoked_key_ends_within_seconds(
    web: httpx.AsyncClient, closed: Receiver, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(keys.time, "monotonic", lambda: now_s)
    assert (await send(web, x_api_key=key)).status_code == 200
    await IngestKey.objects.aupdate(revoked_at=timezone.now())
    now_s += keys.CACHED_S + 0.1
    assert (await send(web, x_api_key=key)).status_code == 401


async def test_each_key_sends_to_its_own_project(web: httpx.AsyncClient, closed: Receiver, key: str, rows: Any) -> None:
    other = await Project.objects.acreate(slug="beta", name="Beta")
    _, others = await sync_to_async(IngestKey.issue)(other, "another key")
    same = span()
    for secret in (key, others):
        sent = await web.post("/v1/traces", content=body(same), headers=PROTOBUF | {"x-api-key": secret})
        assert sent.status_code == 200
    assert len(rows("SELECT DISTINCT project_id FROM ingest_chunk WHERE trace_id = %s", same.trace_id)) == 2


async def test_an_open_instance_takes_what_comes_without_a_key(
    web: httpx.AsyncClient, project: Project, rows: Any
) -> None:
    for headers in ({}, {"authorization": "Bearer of-another-product"}, {"authorization": basic("pk-lf-1", "sk-lf-1")}):
        assert (await send(web, **headers)).status_code == 200, headers
    assert rows("SELECT DISTINCT project_id FROM ingest_chunk") == [{"project_id": project.pk}]


async def test_an_open_instance_still_refuses_a_wrong_key_of_ours(web: httpx.AsyncClient, project: Project) -> None:
    response = await send(web, x_api_key="sxi_wrong")
    assert response.status_code == 401
    assert "leave it out" in status_of(response)[1]
