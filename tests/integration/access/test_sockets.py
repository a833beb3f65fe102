"""Sockets: refused to strangers and foreign pages, deaf to other projects, ended with the right to listen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db import connections
from django.test import Client
from django.utils import timezone

from dashboard import asgi, live
from ingest.live import group
from tests.integration.access.listener import Listener
from tests.integration.access.scenes import Side

pytestmark = pytest.mark.django_db(transaction=True)
HOST = "localhost:8000"


def socket_paths() -> list[str]:
    """Every socket of the ASGI app, from its own router."""
    inner: Any = asgi.sockets
    while not hasattr(inner, "routes"):
        inner = inner.inner
    return [f"/{route.pattern}" for route in inner.routes]


def socket(path: str, **headers: str) -> Listener:
    return Listener(asgi.application, path, {"host": HOST, "origin": f"http://{HOST}"} | headers)


def cookie_of(user: Any) -> str:
    client = Client()
    client.force_login(user)
    return f"sixstage_session={client.cookies['sixstage_session'].value}"


@pytest.fixture(autouse=True)
async def the_threads_connections_end(transactional_db: None) -> AsyncIterator[None]:
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
def alphas_cookie(alpha: Side) -> str:
    return cookie_of(alpha.viewer)


@pytest.fixture
def betas_cookie(beta: Side) -> str:
    return cookie_of(beta.admin)


@pytest.fixture(params=socket_paths())
def path(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_there_is_a_socket() -> None:
    assert "/ws/live/" in socket_paths()


async def test_a_stranger_is_refused(alpha: Side, path: str) -> None:
    for headers in ({}, {"cookie": "sixstage_session=made-up"}, {"authorization": "Bearer sxr_made-up"}):
        assert await socket(path, **headers).connect() == (False, 4401)
    assert await socket(path, authorization=f"Bearer {alpha.key_secret}").connect() == (False, 4401)


async def test_a_member_of_another_project_is_refused(alpha: Side, beta: Side, betas_cookie: str, path: str) -> None:
    assert await socket(f"{path}?project=alpha", cookie=betas_cookie).connect() == (False, 4404)
    token = f"Bearer {beta.token_secret}"
    assert await socket(f"{path}?project=alpha", authorization=token).connect() == (False, 4404)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:9000"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "file://"},
        {"host": "evil.example"},
        {"host": "evil.example", "origin": "http://evil.example"},
        {"host": ""},
    ],
)
async def test_a_foreign_page_is_refused_even_with_a_members_cookie(
    alphas_cookie: str, path: str, headers: dict[str, str]
) -> None:
    assert await socket(path, cookie=alphas_cookie, **headers).connect() == (False, 4403)


async def test_a_foreign_page_is_refused_on_an_open_instance(settings: Any, path: str) -> None:
    settings.SIXSTAGE_OPEN = True
    assert await socket(path, origin="http://evil.example").connect() == (False, 4403)


async def test_an_unknown_socket_is_refused() -> None:
    assert await socket("/ws/none/").connect() == (False, 4404)


async def test_members_and_tokens_hear_of_their_own_runs_only(
    alpha: Side, beta: Side, alphas_cookie: str, path: str
) -> None:
    layer = get_channel_layer()
    for headers in ({"cookie": alphas_cookie}, {"authorization": f"Bearer {alpha.token_secret}", "origin": ""}):
        listening = socket(path, **headers)
        assert await listening.connect() == (True, None)
        assert (await listening.hear())["kind"] == "hello"
        for side, run_id in ((beta, "of beta"), (alpha, "of alpha")):
            message = {"type": "runs.changed", "count": 1, "run_ids": [run_id]}
            await layer.group_send(group(side.project.pk), message)
        assert await listening.hear() == {"kind": "runs", "run_ids": ["of alpha"], "count": 1}
        await listening.disconnect()


@pytest.mark.parametrize("how", ["the token is revoked", "the member is removed", "the user is deactivated"])
async def test_it_ends_when_the_right_to_listen_does(
    alpha: Side, alphas_cookie: str, path: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "BEAT_S", 0.05)
    monkeypatch.setattr(live, "BEATS_A_LOOK", 1)
    by_token = {"authorization": f"Bearer {alpha.token_secret}"}
    listening = socket(path, **(by_token if how == "the token is revoked" else {"cookie": alphas_cookie}))
    assert await listening.connect() == (True, None)
    if how == "the token is revoked":
        alpha.token.revoked_at = timezone.now()
        await alpha.token.asave()
    elif how == "the member is removed":
        await alpha.project.memberships.filter(user=alpha.viewer).adelete()
    else:
        alpha.viewer.is_active = False
        await alpha.viewer.asave()
    assert await listening.closed() == (4404 if how == "the member is removed" else 4401)
