"""The page of a large run is sent in pieces: the frame before the run is read."""

from __future__ import annotations

import re

import httpx
import pytest

from dashboard.pages import run as run_page
from ingest.read.values import RunDetail
from tests.integration.api.test_run_downloads import agent_and_call, stored

pytestmark = pytest.mark.django_db(transaction=True)
NONCE, ROWS = re.compile(r'nonce="[^"]*"'), 'id="waterfall-data"'


@pytest.fixture
async def run_id(web: httpx.AsyncClient) -> str:
    return await stored(web, *agent_and_call())


async def shown(web: httpx.AsyncClient, run_id: str) -> str:
    answer = await web.get(f"/runs/{run_id}")
    assert answer.status_code == 200
    assert set(NONCE.findall(answer.text)) == {f'nonce="{found}"' for found in re.findall(
        r"nonce-([^']+)", answer.headers["content-security-policy"]
    )}  # fmt: skip
    return NONCE.sub("", answer.text)


async def test_in_pieces_it_is_the_same_page(
    web: httpx.AsyncClient, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await shown(web, run_id)
    monkeypatch.setattr(run_page, "STREAMED_SPANS", 1)
    assert await shown(web, run_id) == whole
    assert ROWS in whole
    assert (await web.get(f"/runs/{'0' * 32}-{'0' * 16}")).status_code == 404


async def test_what_fails_on_the_way_is_said_in_the_page(
    web: httpx.AsyncClient, run_id: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> RunDetail:
        raise RuntimeError("no disk")

    monkeypatch.setattr(run_page, "STREAMED_SPANS", 1)
    monkeypatch.setattr(run_page, "span_times", fails)
    page = await shown(web, run_id)
    assert "This page was not finished" in page
    assert page.rstrip().endswith("</html>")
    assert ROWS not in page
    assert "no disk" in caplog.text
