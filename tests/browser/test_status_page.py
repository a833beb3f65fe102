"""The status page in the browser: whole in every look, fresh by itself, and a poison trace tried again."""

from __future__ import annotations

import time

import httpx
import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.test_every_page import LOOKS, SERIOUS
from tests.instance import Instance
from tests.integration.otlp.messages import PROTOBUF

POISON = """
    INSERT INTO ingest_dirty_trace (trace_id, project_id, day, generation, received_unix_ns, due_unix_ns,
                                    claimed_until_unix_ns, tries, error)
    SELECT %(trace_id)s, min(id), current_date, 1, %(now_ns)s, %(now_ns)s, 0, 5, 'ValueError: a poison trace'
    FROM ingest_project ON CONFLICT (trace_id, project_id) DO UPDATE SET tries = 5, error = excluded.error
"""


def poison(instance: Instance) -> str:
    trace_id = bytes.fromhex("5ad0" * 8)
    with psycopg.connect(instance.database_url) as connection:
        connection.execute(POISON, {"trace_id": trace_id, "now_ns": time.time_ns()})
    return trace_id.hex()


def refuse(instance: Instance) -> None:
    sent = PROTOBUF | {"user-agent": "a-broken-exporter/1.0"}
    httpx.post(f"{instance.otlp_http}/v1/traces", content=b"\xff\xff\xff", headers=sent, timeout=30)


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_it_is_whole_and_accessible(open_page: Open, instance: Instance, theme: str, width: int) -> None:
    poison(instance)
    refuse(instance)
    page = open_page("/status", theme=theme, width=width)
    expect(page.get_by_role("heading", name="Processes")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [n["target"] for n in v["nodes"][:3]]) for v in found if v["impact"] in SERIOUS] == []


def test_it_is_fresh_by_itself(open_page: Open, instance: Instance) -> None:
    page = open_page("/status")
    refuse(instance)
    expect(page.get_by_text("a-broken-exporter/1.0").first).to_be_visible()


def test_a_poison_trace_is_tried_again(open_page: Open, instance: Instance) -> None:
    trace_id = poison(instance)
    page = open_page("/live")
    page.get_by_role("link", name="Status").click()
    expect(page.get_by_text("ValueError: a poison trace")).to_be_visible()
    page.get_by_role("button", name=f"Try trace {trace_id[:16]} again").click()
    expect(page.get_by_text("1 trace will be tried again.")).to_be_visible()
    # Nothing is stored of it, so the try succeeds with no run.
    expect(page.get_by_text("ValueError: a poison trace")).to_have_count(0)
