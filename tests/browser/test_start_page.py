"""The first hour: what to copy, traffic at the press of a button, and a checklist that ticks itself off."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.traffic import Traffic
from tests.instance import Instance


def test_what_to_copy_is_filled_in_and_the_checklist_is_done(
    open_page: Open, traffic: Traffic, instance: Instance
) -> None:
    page = open_page("/start")
    expect(page.locator(".way[open]")).to_contain_text(f"OTEL_EXPORTER_OTLP_ENDPOINT={instance.otlp_http}")
    page.get_by_text("pydantic-ai", exact=True).click()
    expect(page.locator(".way[open]")).to_contain_text(f'endpoint="{instance.otlp_http}/v1/traces"')
    for done in ("Spans have arrived", "They make a run", "A first token is measured", "A tool was called"):
        expect(page.locator(".steps .is-done", has_text=done)).to_be_visible()
    page.get_by_role("link", name="the slowest runs").click()
    page.wait_for_url("**/runs?sort=slowest")


def test_what_is_refused_appears_with_its_reason(open_page: Open, traffic: Traffic, instance: Instance) -> None:
    page = open_page("/start")
    httpx.post(f"{instance.otlp_http}/v1/traces", content=b"no protobuf", headers={"content-type": "text/plain"})
    expect(page.locator("#progress")).to_contain_text("unsupported_type")


def test_simulated_traffic_starts_once(open_page: Open, traffic: Traffic) -> None:
    page = open_page("/start")
    page.get_by_role("button", name="Send simulated traffic").click()
    expect(page.get_by_role("button", name="Simulated traffic is on its way")).to_be_disabled()
    token = page.locator("form[action*='/start/demo'] [name=csrfmiddlewaretoken]").input_value()
    again = page.request.post(
        page.url.split("?")[0] + "/demo", form={"csrfmiddlewaretoken": token}, headers={"referer": page.url}
    )
    assert again.status == 409
    assert "it runs already" in again.text()
    page.goto(page.url.replace("/start", "/runs?q=service:support-agent"))
    page.wait_for_function("() => document.querySelector('[data-rows] tr') || (location.reload(), false)", polling=1000)
