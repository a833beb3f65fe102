"""Scraping: claim what is due, fetch side by side, keep what came. One loop in a thread of each worker.

A target that hangs holds a connection until its time-out and nobody else; results are kept as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from ingest.engines.credentials import CredentialsRefused, decrypt
from ingest.engines.kinds import Kind
from ingest.engines.pages import BadPage, Reason, read_page
from ingest.engines.store import MS, Claimed, Outcome, ScrapeStore
from ingest.outbound.addresses import Policy
from ingest.outbound.fetching import Fetcher, FetchFailed, Tls

log = logging.getLogger(__name__)

LIMIT_BYTES = 16 << 20
TICK_S = 0.25
LONGEST_SLEEP_S = 1.0
JITTER = 0.05
QUIET_S = 60.0
ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    database_url: str
    policy: Policy
    encryption_key: str = ""
    limit_bytes: int = LIMIT_BYTES


async def scrape(target: Claimed, fetcher: Fetcher, settings: Settings) -> Outcome:
    """One scrape, whatever becomes of it."""
    began = time.monotonic()
    reading, reason, detail = None, None, ""
    try:
        headers = {"Accept": ACCEPT}
        if target.credentials is not None:
            headers |= decrypt(target.credentials, settings.encryption_key).headers()
        fetched = await fetcher.fetch(
            target.url, headers=headers, tls=Tls(**target.tls), timeout_s=target.timeout_ms / 1000,
            limit_bytes=settings.limit_bytes,
        )  # fmt: skip
        if "html" in fetched.content_type.lower():
            raise BadPage(Reason.NOT_METRICS, "the answer is a web page (HTML), not metrics; is the path right?")
        reading = read_page(fetched.body, Kind(target.kind), target.id)
    except FetchFailed as error:
        reason, detail = Reason(error.why), str(error)
    except BadPage as error:
        reason, detail = error.reason, str(error)
    except CredentialsRefused as error:
        reason, detail = Reason.ERROR, str(error)
    except Exception as error:
        log.exception("the page of target %d could not be read", target.id)
        reason, detail = Reason.ERROR, f"{type(error).__name__}: {error}"
    now_ns = time.time_ns()
    return Outcome(
        target=target, at_unix_ns=now_ns, took_ms=round((time.monotonic() - began) * 1000),
        due_unix_ns=next_due_ns(target, now_ns), reading=reading, reason=reason, detail=detail,
    )  # fmt: skip


def next_due_ns(target: Claimed, now_ns: int) -> int:
    """An interval after it was due, a little more or less so that targets spread out; not sooner than now."""
    interval_ns = target.interval_ms * MS
    jittered = round(interval_ns * random.uniform(1 - JITTER, 1 + JITTER))
    due_ns = target.due_unix_ns + jittered
    # New, or long asleep: anywhere in its next interval, so that those made at once are not scraped at once for ever.
    return due_ns if due_ns > now_ns - interval_ns else now_ns + round(random.random() * interval_ns)


class Scraper:
    """Everything that a loop of scraping needs. ``stopped`` ends it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.fetcher = Fetcher(settings.policy)
        self.store: ScrapeStore | None = None
        self.stopped = asyncio.Event()
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Scraper:
        connection = await psycopg.AsyncConnection.connect(
            self.settings.database_url, autocommit=True, application_name="sixstage-scraper", prepare_threshold=1
        )
        await self._stack.enter_async_context(connection)
        self._stack.push_async_callback(self.fetcher.close)
        self.store = ScrapeStore(connection)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def round(self, now_ns: int | None = None) -> list[Outcome]:
        """Scrape all that is due now, and wait for each; what tests and commands call."""
        assert self.store is not None
        claimed = await self.store.claim(await self.store.now_ns() if now_ns is None else now_ns)
        outcomes = list(await asyncio.gather(*(scrape(one, self.fetcher, self.settings) for one in claimed)))
        await self.store.keep(outcomes)
        return outcomes

    async def run(self) -> None:
        """Until there are no targets any more, or ``stopped`` is set."""
        assert self.store is not None
        under_way: set[asyncio.Task[Outcome]] = set()
        try:
            while not self.stopped.is_set():
                now_ns = await self.store.now_ns()
                claimed = await self.store.claim(now_ns)
                under_way |= {asyncio.create_task(scrape(one, self.fetcher, self.settings)) for one in claimed}
                done = {task for task in under_way if task.done()}
                under_way -= done
                await self.store.keep([task.result() for task in done])
                due_ns = await self.store.next_due_ns()
                if due_ns is None and not under_way:
                    return
                await self._wait(under_way, due_ns, now_ns)
        finally:
            for task in under_way:
                task.cancel()

    async def _wait(self, under_way: set[asyncio.Task[Outcome]], due_ns: int | None, now_ns: int) -> None:
        """Until something is due, or for a tick if answers are awaited: what comes meanwhile is kept together."""
        rest_s = LONGEST_SLEEP_S if due_ns is None else (due_ns - now_ns) / 1e9
        most_s = TICK_S if under_way else LONGEST_SLEEP_S
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), min(max(rest_s, TICK_S), most_s))


class ScrapingThread:
    """Keeps one loop going in this process, for as long as there are targets."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._complained = -QUIET_S

    def keep_going(self) -> None:
        """Start the loop if it does not run. Returns at once."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="sixstage-scraper", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self._loop())
        except Exception as error:  # the next sweep begins anew
            if time.monotonic() - self._complained > QUIET_S:
                self._complained = time.monotonic()
                log.warning("scraping goes on later: %s", str(error).strip() or type(error).__name__)

    async def _loop(self) -> Any:
        async with Scraper(self._settings()) as scraper:
            await scraper.run()
