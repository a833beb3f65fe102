"""A run that is looked at while it runs, and one that changes after it had stood."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.instance import Instance
from tests.large_runs import MS, LargeRun
from tests.polling import until

SHIFTS = """
window.shifted = [];
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.shifted.push({ by: entry.value, what: entry.sources.map(source => {
      const node = source.node?.closest ? source.node : source.node?.parentElement;
      const was = source.previousRect, is = source.currentRect;
      return `.${node?.className ?? "gone"} ${was.x} ${was.y} ${was.height} to ${is.x} ${is.y} ${is.height}`;
    }) });
  }
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_run_grows_ends_and_is_changed_by_a_late_span_without_moving_the_page(
    open_page: Open, instance: Instance, theme: str, width: int
) -> None:
    run = LargeRun("growing-agent", 4_000 * MS)
    for number in range(4):
        run.round(number * 1_000 * MS, 980 * MS, 2)
    root, *rest = run.spans
    del rest[3].attributes[-1]  # of this call nobody tells the first token, which the figures above it then say
    run.send(instance.otlp_http, rest[:3])
    until(lambda: instance.api.get(f"/runs/{run.run_id}").status_code == 200, 30, "the run is seen")

    page = open_page("/runs/none", theme=theme, width=width)
    page.add_init_script(SHIFTS)
    page.goto(f"{instance.web}/runs/{run.run_id}")
    # On a busy machine it may be taken for one whose root was lost before the page is there.
    expect(page.locator(".run-title")).to_contain_text(re.compile("In flight|Root span missing"))
    expect(page.locator(".still-open")).to_contain_text("own span")
    expect(page.locator(".wf-row").first).to_contain_text("not seen yet")
    expect(page.locator("#side .side-title")).to_be_visible()
    chosen = page.locator("#side .side-title").inner_text()

    run.send(instance.otlp_http, rest[3:8])
    expect(page.locator("#changed")).to_contain_text(re.compile(r"^Grew at .* spans more"))
    expect(page.locator(".rounds tbody tr")).to_have_count(3)

    run.send(instance.otlp_http, [rest[8], root])
    expect(page.locator(".run-title")).to_contain_text("Finished")
    expect(page.locator(".run-wall")).to_have_text(re.compile(r"^4\.000"))
    expect(page.locator(".still-open")).to_contain_text("The run has ended")

    run.send(instance.otlp_http, rest[9:])
    expect(page.locator("#changed")).to_contain_text(re.compile("^Late spans changed this run at .*tool execution"))
    assert page.locator("#side .side-title").inner_text() == chosen
    shifted = page.evaluate("window.shifted")
    assert sum(shift["by"] for shift in shifted) < 0.001, shifted
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator("#changed")).to_be_hidden()
