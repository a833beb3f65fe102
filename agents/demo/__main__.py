"""Sends a lively simulated workload to a running Sixstage, as any agent would: by OTLP."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from agents.demo.pace import Show, Tally
from agents.demo.scraped import own_api, register
from agents.demo.target import NotReadyError, Target
from agents.demo.world import TECHNIQUES, world


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        target = Target.of(options.endpoint, os.environ)
        url = target.url
    except ValueError as error:
        parser.error(str(error))
    _say(f"Simulated: every agent, model and tool here is made up. Sending to {url}; Ctrl-C stops it.")
    try:
        target.check()
    except NotReadyError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    tally = asyncio.run(_perform(target, options))
    _say(f"Ended. {tally.ended} simulated runs, {tally.answered} of them answered.")
    return 0


async def _perform(target: Target, options: argparse.Namespace) -> Tally:
    stop, hurry = asyncio.Event(), asyncio.Event()
    _on_signal(stop, hurry)  # first of all: from here on Ctrl-C is no exception
    async with world(target, seed=options.seed, speed=options.speed, without=frozenset(options.without)) as made:
        _say(f"The engines' own pages, to be scraped: {' (like vLLM), '.join(made.pages)} (like SGLang).")
        if await register(own_api(target.endpoint, os.environ), made.pages):
            _say("Sixstage scrapes them: see its Engines page.")
        show = Show(made, _say)
        showing = asyncio.create_task(show.run(rate=options.rate, runs=options.runs))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((showing, stopping), timeout=options.seconds, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not showing.done():
            showing.cancel()
            with suppress(asyncio.CancelledError):
                await showing
            _say("Stopping: runs in flight may end; Ctrl-C again cuts them short.")
            await show.stop(hurry)
        else:
            showing.result()
        return show.tally


def _on_signal(stop: asyncio.Event, hurry: asyncio.Event) -> None:
    def stopped() -> None:
        (hurry if stop.is_set() else stop).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agents.demo", description=__doc__)
    parser.add_argument(
        "--endpoint",
        help="OTLP/HTTP base URL. Default: OTEL_EXPORTER_OTLP_ENDPOINT, else http://SIXSTAGE_HOST:"
        "SIXSTAGE_OTLP_HTTP_PORT, else http://127.0.0.1:4318. SIXSTAGE_INGEST_KEY is sent if set.",
    )
    parser.add_argument(
        "--rate",
        type=_rate,
        default=os.environ.get("RATE") or "30",
        help="runs a minute, 1 to 600 (default: RATE, else 30); a burst of ten comes on top every 40 runs",
    )
    parser.add_argument(
        "--without",
        type=_techniques,
        default=os.environ.get("WITHOUT", ""),
        metavar="TECHNIQUE,…",
        help=f"switch off: {', '.join(TECHNIQUES)} (default: WITHOUT)",
    )
    parser.add_argument("--seconds", type=float, help="stop after so long (default: at Ctrl-C)")
    parser.add_argument("--runs", type=int, help="stop after so many runs")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="repeat the same choices")
    parser.add_argument("--speed", type=_speed, default=1.0, help="5: all delays a fifth; for tests")
    return parser


def _rate(text: str) -> float:
    rate = float(text)
    if not 1 <= rate <= 600:
        raise argparse.ArgumentTypeError(f"{text}: expected 1 to 600 runs a minute")
    return rate


def _techniques(text: str) -> list[str]:
    names = text.replace(",", " ").split()
    if unknown := [name for name in names if name not in TECHNIQUES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: expected {', '.join(TECHNIQUES)}")
    return names


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 < speed <= 100:
        raise argparse.ArgumentTypeError(f"{text}: expected more than 0, at most 100")
    return speed


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
