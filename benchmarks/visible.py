"""Row 4: from the acknowledgement that makes a trace whole until its run is in the API and announced on the socket."""

import asyncio
import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.loads import SPANS_A_TRACE, Loads, say, whole

RATE, SECONDS = 5_000, 30
EVERY = 80  # one trace of so many is asked for: asking for all would be the load
ASK_AGAIN_S = 1.0
WITHIN_S = 30.0


@dataclass
class Watch:
    """What was heard and seen, all in CLOCK_MONOTONIC nanoseconds."""

    acked: dict[str, int] = field(default_factory=dict)  # by run id, the sample only
    shown: dict[str, int] = field(default_factory=dict)
    announced: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    shortened: list[int] = field(default_factory=list)  # messages that told of more runs than they named

    def announced_ns(self, run_id: str) -> int | None:
        """When a page heard of the whole run.

        A trace in two batches may be announced twice; the last is the whole one. A message that tells of more
        runs than it names makes a page ask again, too: the first such one after the run was there counts.
        """
        acked, shown = self.acked[run_id], self.shown.get(run_id)
        named = [at for at in self.announced.get(run_id, ()) if at >= acked]
        if named:
            return max(named)
        unnamed = [at for at in self.shortened if shown is not None and at >= shown]
        if unnamed:
            return min(unnamed)
        return acked if run_id in self.announced else None  # it overtook the acknowledgement


@dataclass(frozen=True)
class Visible:
    """Milliseconds from the acknowledgement, one for each trace of the sample; what did not come counts 30 s."""

    shown_ms: list[float]
    announced_ms: list[float]
    both_ms: list[float]
    named: int  # how many were announced by their own id
    late: int  # how many did not come within 30 s
    reached_per_s: float


def measure_visible(loads: Loads) -> Visible:
    """5,000 spans/s for 30 s, watched as a page does."""
    watch = Watch()
    say(f"sending {RATE:,} spans a second for {SECONDS} s, and asking for the runs")
    told = asyncio.run(_live(loads, watch))
    loads.note("visible", whole(RATE * SECONDS), told)
    found = [
        (_since_ms(acked, watch.shown.get(run_id)), _since_ms(acked, watch.announced_ns(run_id)))
        for run_id, acked in watch.acked.items()
    ]
    return Visible(
        shown_ms=sorted(shown for shown, _ in found),
        announced_ms=sorted(announced for _, announced in found),
        both_ms=sorted(max(both) for both in found),
        named=sum(run_id in watch.announced for run_id in watch.acked),
        late=sum(max(both) >= WITHIN_S * 1e3 for both in found),
        reached_per_s=float(told["acked_spans_per_s"]),
    )


def at_share(values: list[float], share: float) -> float:
    """The value that this share of the sorted values does not exceed."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _since_ms(acked_ns: int, then_ns: int | None) -> float:
    return WITHIN_S * 1e3 if then_ns is None else (then_ns - acked_ns) / 1e6


async def _live(loads: Loads, watch: Watch) -> dict[str, Any]:
    instance, times = loads.instance, loads.folder / "ack-times"
    origin: Any = instance.web
    api = httpx.AsyncClient(base_url=f"{instance.web}/api/v1", timeout=WITHIN_S)
    async with api, connect(instance.socket, origin=origin) as socket:
        hearing = asyncio.create_task(_hear(socket, watch))
        command = loads.command("visible", RATE * SECONDS, RATE, f"--ack-times={times}")
        generator = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        telling = asyncio.create_task(generator.communicate())
        await _ask_for_each(api, times, telling, watch)
        told, _ = await telling
        await _until_all_announced(watch)
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
    result: dict[str, Any] = json.loads(told)
    return result


async def _hear(socket: ClientConnection, watch: Watch) -> None:
    async for message in socket:
        at = time.monotonic_ns()
        said = json.loads(message)
        if said["kind"] == "runs":
            for run_id in said["run_ids"]:
                watch.announced[run_id].append(at)
            if said["count"] > len(said["run_ids"]):
                watch.shortened.append(at)


async def _ask_for_each(api: httpx.AsyncClient, times: Path, telling: asyncio.Task[Any], watch: Watch) -> None:
    """Follow the generator's file, and begin to ask for a trace of the sample as soon as it stands there."""
    asking: list[asyncio.Task[None]] = []
    number, rest, over = 0, "", False
    while not times.exists() and not telling.done():
        await asyncio.sleep(0.01)
    with times.open() as lines:
        while not over:
            over = telling.done()  # looked at first: what is read after it is all
            *new, rest = (rest + lines.read()).split("\n")
            for line in new:
                trace, root, at = line.split()
                if number % EVERY == 0:
                    run_id = f"{trace}-{root}"
                    watch.acked[run_id] = int(at)
                    asking.append(asyncio.create_task(_ask(api, run_id, watch)))
                number += 1
            await asyncio.sleep(0.01)
    await asyncio.gather(*asking)


async def _ask(api: httpx.AsyncClient, run_id: str, watch: Watch) -> None:
    """Until the API answers with the run and all of its spans. Asks when the run is announced, as a page does, else
    once a second: with a hundred runs waiting, asking all of them all the time would be the load that is measured."""
    until_ns = time.monotonic_ns() + int(WITHIN_S * 1e9)
    heard = 0
    while time.monotonic_ns() < until_ns:
        answer = await api.get(f"/runs/{run_id}")
        if answer.status_code == 200 and answer.json()["spans"] == SPANS_A_TRACE:
            watch.shown[run_id] = time.monotonic_ns()
            return
        again_s = time.monotonic() + ASK_AGAIN_S
        while time.monotonic() < again_s and len(watch.announced.get(run_id, ())) == heard:
            await asyncio.sleep(0.02)
        heard = len(watch.announced.get(run_id, ()))


async def _until_all_announced(watch: Watch) -> None:
    until_ns = time.monotonic_ns() + int(WITHIN_S * 1e9)
    while time.monotonic_ns() < until_ns and any(watch.announced_ns(run_id) is None for run_id in watch.acked):
        await asyncio.sleep(0.1)
