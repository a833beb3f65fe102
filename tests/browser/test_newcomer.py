"""As somebody who has only the README: from a clone to the slowest stage of an agent of one's own. What it shows to
copy is run as it stands, but for the ports of the test's instance; cloning and `make up` the test run has done."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.instance import ROOT, Instance

STEPS_MOST = 8
RUN_MS = 30_000


def the_steps() -> list[str]:
    readme = (ROOT / "README.md").read_text()
    found = re.search(r"^## Your own agent's slowest stage.*?\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    assert found
    return re.split(r"^\d\. ", found[1], flags=re.MULTILINE)[1:]


def to_copy(step: str, language: str = "") -> str:
    found = re.search(rf"^   ```{language}\n(.*?)^   ```$", step, re.MULTILINE | re.DOTALL)
    assert found, step
    return textwrap.dedent(found[1])


def address(step: str) -> str:
    found = re.search(r"<(http://[^>]+)>", step)
    assert found, step
    return found[1]


def test_the_readme_leads_to_the_slowest_stage(open_page: Open, instance: Instance, tmp_path: Path) -> None:
    steps = the_steps()
    assert len(steps) <= STEPS_MOST
    _clone, up, environment, code, run, look, click, ask = steps
    assert re.search(r"^up:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "`make up`" in up

    def here(text: str) -> str:
        return (
            text.replace("http://127.0.0.1:4318", instance.otlp_http)
            .replace("http://127.0.0.1:8000", instance.web)
            .replace(".venv/bin/python", sys.executable)
        )

    (tmp_path / "my_agent.py").write_text(to_copy(code, "python"))
    shell = here(to_copy(environment) + to_copy(run))
    subprocess.run(["bash", "-euc", shell], cwd=tmp_path, check=True, timeout=60)

    page = open_page(here(address(look)).removeprefix(instance.web))
    page.wait_for_function(
        "() => document.querySelector('[data-rows] tr') || (location.reload(), false)", polling=1000, timeout=RUN_MS
    )
    assert "Click on it" in click
    page.locator("[data-rows] tr").first.click()
    page.wait_for_url("**/runs/*-*")
    expect(page.locator(".run-head .cost b").first).to_contain_text(re.compile("look_up_order|tool execution", re.I))
    expect(page.locator(".split .is-most")).to_contain_text("Tool execution")

    told = subprocess.run(["bash", "-euc", here(to_copy(ask))], capture_output=True, check=True, timeout=60)
    totals_ns = json.loads(told.stdout)["total"]["runs"]["totals_ns"]
    assert max(totals_ns, key=totals_ns.get) == "tool_execution"
