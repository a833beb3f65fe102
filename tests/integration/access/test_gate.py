"""A request with a foreign Host or Origin is refused on every route, the OTLP ones included."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ingest.otlp.http import ROUTES
from tests.integration.access.scenes import Side, filled, make_side, routes

pytestmark = pytest.mark.django_db(transaction=True)

FOREIGN = [
    {"host": "evil.example"},
    {"host": "evil.example:8000"},
    {"host": "localhost.evil.example"},
    {"host": "evil.example", "origin": "http://evil.example"},
    {"host": "127.0.0.2:8000"},
    {"host": ""},
    {"origin": "http://evil.example"},
    {"origin": "http://localhost:9000"},
    {"origin": "http://127.0.0.1:8000"},
    {"origin": "null"},
    {"origin": "http://["},
    {"origin": "localhost:8000"},
    {"origin": ""},
]
OWN = [
    {},
    {"host": "127.0.0.1:8000"},
    {"host": "[::1]:8000"},
    {"host": "LOCALHOST"},
    {"origin": "http://localhost:8000"},
]


@pytest.fixture
def side(transactional_db: None) -> Side:
    return make_side("beta")


def named(headers: dict[str, str]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in headers.items()) or "nothing"


@pytest.mark.parametrize("headers", FOREIGN, ids=named)
async def test_a_foreign_request_is_refused_everywhere(
    web: httpx.AsyncClient, side: Side, headers: dict[str, str]
) -> None:
    paths = [*(filled(route, side) for route in routes()), *ROUTES, "/static/css/app.css", "/no-such-page"]
    wrong = []
    for path in paths:
        for method in ("GET", "POST"):
            response = await web.request(method, path, headers=headers)
            if response.status_code != 403 or "access-control-allow-origin" in response.headers:
                wrong.append((method, path, response.status_code))
    assert wrong == []


@pytest.mark.parametrize("headers", OWN, ids=named)
async def test_our_own_pages_and_programs_pass(web: httpx.AsyncClient, headers: dict[str, str]) -> None:
    for path in ("/healthz", "/api/v1/runs"):
        assert (await web.get(path, headers=headers)).status_code == 200
    for path in ROUTES:
        sent = await web.post(path, headers=headers | {"content-type": "application/json"}, content=b"{}")
        assert sent.status_code == 200


async def test_the_refusal_says_what_to_do(web: httpx.AsyncClient) -> None:
    response = await web.post("/v1/traces", headers={"host": "otlp.example", "content-type": "application/json"})
    assert response.json() == {"code": 7, "message": response.json()["message"]}
    assert "SIXSTAGE_ALLOWED_HOSTS" in response.json()["message"]


async def test_hosts_can_be_allowed(web: httpx.AsyncClient, settings: Any) -> None:
    settings.ALLOWED_HOSTS = [".example.org"]
    for host in ("example.org", "otlp.example.org:4318"):
        assert (await web.get("/healthz", headers={"host": host})).status_code == 200
    for host in ("badexample.org", "localhost:8000"):
        assert (await web.get("/healthz", headers={"host": host})).status_code == 403


async def test_no_preflight_is_answered(web: httpx.AsyncClient) -> None:
    headers = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    for path in (*ROUTES, "/api/v1/runs"):
        response = await web.options(path, headers=headers)
        assert response.status_code == 403
        assert not [name for name in response.headers if name.startswith("access-control")]
