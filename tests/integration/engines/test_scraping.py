"""Pages as servers really give them: each target's state is clear, no rate is false, others are not affected."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest.engines.scraping import Scraper, Settings
from ingest.engines.store import LEASE_NS
from ingest.models import EngineTarget, Project
from ingest.outbound.addresses import Policy
from ingest.read.engines import list_engines, read_engine, read_failures, read_series
from ingest.scope import Scope
from tests.integration.conftest import Rows
from tests.integration.engines import served as pages
from tests.integration.engines.conftest import Target
from tests.integration.engines.served import Served

SECOND = 10**9
DUE = "UPDATE ingest_engine_target SET due_unix_ns = 0"


async def again(scraper: Scraper) -> list[Any]:
    """Another round, of all targets, as if their intervals were over."""
    assert scraper.store
    await scraper.store.connection.execute(DUE)
    return await scraper.round()


async def of(scope: Scope, target: EngineTarget) -> Any:
    return await sync_to_async(read_engine)(scope, target.pk, time.time_ns())


@pytest.fixture
def scope(project: Project) -> Scope:
    return Scope(project_id=project.pk)


async def test_a_real_page_is_kept_and_read_again(
    scraper: Scraper, served: Served, target: Target, scope: Scope
) -> None:
    url = served.put("/metrics", pages.page(pages.BEFORE))
    mine = await sync_to_async(target)(url)
    await scraper.round()
    served.put("/metrics", pages.page(pages.REAL))
    await again(scraper)

    engine = await of(scope, mine)
    assert (engine.state, engine.seen_kind, engine.model_names) == ("up", "vllm", ["tiny-llama"])
    assert engine.figures.preemptions == 4
    assert engine.figures.finished_by_reason["length"] == 26
    assert engine.figures.spreads["ttft"].count == 30
    assert engine.figures.hit_rate == pytest.approx(16256 / 31522)


async def test_figures_stay_when_the_server_is_gone(
    scraper: Scraper, served: Served, target: Target, scope: Scope
) -> None:
    url = served.put("/metrics", pages.page(pages.counting(100)))
    mine = await sync_to_async(target)(url)
    await scraper.round()
    served.put("/metrics", pages.page(pages.counting(130)))
    await again(scraper)
    await sync_to_async(EngineTarget.objects.filter(pk=mine.pk).update)(url="http://127.0.0.1:1/metrics")
    await again(scraper)

    engine = await of(scope, mine)
    assert (engine.state, engine.reason, engine.failures) == ("failing", "unreachable", 1)
    assert engine.figures.finished == 30


BAD = [
    ("500", pages.status(500), "status"),
    ("a web page", pages.html, "not_metrics"),
    ("50 MB", pages.huge, "too_large"),
    ("half a page", pages.half, "broken_off"),
    ("half a page, unnoticed", pages.half_unnoticed, "broken_off"),
    ("nothing", pages.page(b""), "broken_off"),
    ("another's metrics", pages.page(b"go_goroutines 12\n"), "no_known_metrics"),
    ("a series twice", pages.page(pages.counting(5) + pages.counting(5)), "duplicated_series"),
    ("no metrics", pages.page(b"hello world of engines\n"), "not_metrics"),
    ("a drip", pages.drips, "timeout"),
    ("nothing at all", pages.hangs, "timeout"),
]


async def test_bad_pages_are_told_apart_and_hurt_nobody_else(
    scraper: Scraper, served: Served, target: Target, scope: Scope
) -> None:
    made = {}
    for number, (name, answer, reason) in enumerate(BAD):
        url = served.put(f"/{number}", answer)
        patience_ms = 1_000 if reason == "timeout" else 8_000  # one process serves all of this and asks for it
        made[name] = (await sync_to_async(target)(url, name, timeout_ms=patience_ms), reason)
    good = await sync_to_async(target)(served.put("/good", pages.page(pages.counting(3))), "good")
    await scraper.round()

    told = {row.name: row for row in await sync_to_async(list_engines)(scope, time.time_ns())}
    assert {name: told[name].reason for name in made} == {name: reason for name, (_, reason) in made.items()}
    assert told["good"].state == "up"
    assert told["good"].reason is None
    for bad, reason in made.values():
        (failure,) = await sync_to_async(read_failures)(scope, bad.pk, 0)
        assert failure.reason == reason
        assert failure.detail
    assert await sync_to_async(read_failures)(scope, good.pk, 0) == []


async def test_a_restart_makes_no_negative_and_no_spike(
    scraper: Scraper, served: Served, target: Target, scope: Scope
) -> None:
    url = served.put("/metrics", pages.page(pages.counting(1000)))
    mine = await sync_to_async(target)(url)
    for number in (1000, 1010, 2, 7):
        served.put("/metrics", pages.page(pages.counting(number)))
        await again(scraper)

    engine = await of(scope, mine)
    assert engine.figures.finished == 10 + 2 + 5
    assert engine.figures.spreads["e2e"].count == 17


@pytest.mark.parametrize("odd", ["NaN", "+Inf", "-Inf"])
async def test_what_is_no_number_is_unknown(
    scraper: Scraper, served: Served, target: Target, scope: Scope, odd: str
) -> None:
    mine = await sync_to_async(target)(served.put("/metrics", pages.page(pages.counting(5))))
    await scraper.round()
    broken = pages.counting(8).replace(b"8.0\n", odd.encode() + b"\n").replace(b"1.0\n", odd.encode() + b"\n", 1)
    served.put("/metrics", pages.page(broken))
    await again(scraper)

    engine = await of(scope, mine)
    assert engine.state == "up"
    assert engine.figures.running is None
    assert engine.figures.waiting == 0
    assert engine.figures.finished_by_reason == {}
    assert engine.figures.generation_tokens == 30


async def test_a_target_is_scraped_by_one_worker_only(database_url: str, served: Served, target: Target) -> None:
    url = served.put("/metrics", pages.page(pages.counting(1)))
    for number in range(20):
        await sync_to_async(target)(url, f"engine {number}")
    settings = Settings(database_url=database_url, policy=Policy(loopback=True))
    async with Scraper(settings) as one, Scraper(settings) as two, Scraper(settings) as three:
        rounds = await asyncio.gather(one.round(), two.round(), three.round())
    assert sum(map(len, rounds)) == len(served.seen) == 20


async def test_what_a_dead_worker_had_claimed_is_scraped_by_another_later(
    scraper: Scraper, served: Served, target: Target, rows: Rows
) -> None:
    await sync_to_async(target)(served.put("/metrics", pages.page(pages.counting(1))))
    assert scraper.store
    now_ns = await scraper.store.now_ns()
    (claimed,) = await scraper.store.claim(now_ns)  # and dies
    assert await scraper.round(now_ns) == []
    later_ns = now_ns + LEASE_NS + claimed.timeout_ms * 10**6 + SECOND
    (outcome,) = await scraper.round(later_ns)
    assert outcome.reading is not None
    # The first was only slow, not dead: what it brings now is another's to tell.
    await scraper.store.keep([outcome])
    assert rows("SELECT count(*) FROM ingest_engine_sample") == [{"count": 1}]


async def test_one_that_hangs_holds_up_nobody(database_url: str, served: Served, target: Target, rows: Rows) -> None:
    await sync_to_async(target)(served.put("/hangs", pages.hangs), "hangs", timeout_ms=60_000)
    good = await sync_to_async(target)(served.put("/good", pages.page(pages.counting(1))), "good", interval_ms=1_000)
    kept = f"SELECT count(*) AS kept FROM ingest_engine_sample WHERE target_id = {good.pk}"
    async with Scraper(Settings(database_url=database_url, policy=Policy(loopback=True))) as scraper:
        running = asyncio.create_task(scraper.run())
        async with asyncio.timeout(30):
            while rows(kept)[0]["kept"] < 3:
                await asyncio.sleep(0.05)
        scraper.stopped.set()
        await running
    assert rows("SELECT count(*) AS failed FROM ingest_engine_failure") == [{"failed": 0}]


async def test_without_targets_the_loop_ends(scraper: Scraper) -> None:
    async with asyncio.timeout(10):
        await scraper.run()


async def test_intervals_are_kept_with_a_little_jitter(scraper: Scraper, served: Served, target: Target) -> None:
    await sync_to_async(target)(served.put("/metrics", pages.page(pages.counting(1))), interval_ms=60_000)
    (first,) = await scraper.round()
    assert 0 <= first.due_unix_ns - first.at_unix_ns <= 60 * SECOND
    (second,) = await scraper.round(first.due_unix_ns)
    assert 0.94 < (second.due_unix_ns - first.due_unix_ns) / (60 * SECOND) < 1.06


async def test_a_redirect_to_another_host_is_not_followed(scraper: Scraper, served: Served, target: Target) -> None:
    def away(handler: pages.Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "http://localhost:1/metrics")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def along(handler: pages.Handler) -> None:
        handler.send_response(308)
        handler.send_header("Location", "/new")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    served.put("/new", pages.page(pages.counting(1)))
    await sync_to_async(target)(served.put("/away", away), "away")
    await sync_to_async(target)(served.put("/along", along), "along")
    outcomes = {outcome.target.url[-5:]: outcome for outcome in await scraper.round()}
    assert outcomes["/away"].reason == "redirect"
    assert outcomes["along"].reading is not None


async def test_series_have_gaps_where_nobody_scraped(
    scraper: Scraper, served: Served, target: Target, scope: Scope, rows: Rows
) -> None:
    mine = await sync_to_async(target)(served.put("/metrics", pages.page(pages.counting(0))))
    for number in (0, 5):
        served.put("/metrics", pages.page(pages.counting(number)))
        await again(scraper)
    now_ns = time.time_ns()
    # As if all that had been ten minutes ago, and then nothing.
    rows("UPDATE ingest_engine_sample SET at_unix_ns = at_unix_ns - 600000000000::bigint RETURNING 1")
    rows("UPDATE ingest_engine_target SET sample_unix_ns = sample_unix_ns - 600000000000::bigint RETURNING 1")
    scraper.store.last.clear()  # type: ignore[union-attr]
    for number in (900, 906):
        served.put("/metrics", pages.page(pages.counting(number)))
        await again(scraper)

    begin, end = now_ns - 900 * SECOND, now_ns + 60 * SECOND
    (series,) = await sync_to_async(read_series)(scope, mine.pk, ["finished"], begin, end, 60)
    counts = [point.values.get("count") for point in series.points if point.values.get("count") is not None]
    assert counts == [5, 6]
