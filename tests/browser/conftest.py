"""Browser tests: the pages of a whole running instance, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests import chromium
from tests.browser.traffic import Traffic, send_traffic
from tests.instance import Instance

Open = Callable[..., Page]
PATIENCE_MS = 15_000  # for what only has to come; what must come soon says so itself
CHARTS_MS = 60_000  # a library of 4.8 MB, which a busy machine takes its time to compile
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = chromium.chromium_path()
    if not found:
        pytest.skip(f"no Chromium here: none of {', '.join(chromium.NAMES)} is on the PATH, and CHROMIUM names none")
    return found


# By module and not by session: while Playwright runs, this thread has an event loop, which async tests need free.
@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def traffic(instance: Instance, chromium_path: str) -> Traffic:
    return send_traffic(instance)


REFUSED = re.compile("(status of|Status Error Code) (404|422)")


@pytest.fixture
def open_page(browser: Browser, instance: Instance) -> Iterator[Open]:
    """Opens a path in a context of its own. The test fails on any error that the page or its policy reports."""
    contexts, troubles = [], []

    def note(message: ConsoleMessage) -> None:
        # A refused address or form is what some tests ask for; the browser logs it, and htmx too.
        if message.type in ("error", "warning") and not REFUSED.search(message.text):
            troubles.append(f"{message.type}: {message.text}")

    def open_page(path: str, *, theme: str = "light", width: int = 1280, wait: bool = True) -> Page:
        height = 800 if width > 640 else 844
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, timezone_id="Europe/Zurich"
        )  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", note)
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.goto(f"{instance.web}{path}")
        if wait:
            page.wait_for_load_state("load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles, instance.last_words()
