"""``python -m agents.engine``: a simulated engine that any OpenAI client can talk to."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import nullcontext

from agents.clock import Clock
from agents.engine import Playbook, SimulatedEngine, serve
from agents.telemetry import Telemetry


async def _run(options: argparse.Namespace) -> None:
    telemetry = Telemetry(options.service, endpoint=options.otlp, simulated=True) if options.otlp else nullcontext()
    with telemetry as sender:
        engine = SimulatedEngine(
            options.model, Playbook(seed=options.seed), telemetry=sender, clock=Clock(options.speed)
        )
        async with serve(engine, port=options.port) as url:
            print(f"Simulated engine with model {options.model} at {url}. Ctrl-C stops.", flush=True)
            await asyncio.Event().wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m agents.engine", description=__doc__)
    parser.add_argument("--model", default="sim-70b")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--otlp", default="", help="where its spans go, such as http://127.0.0.1:4318")
    parser.add_argument("--service", default="sim-engine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", type=float, default=1.0, help="20: a simulated second lasts 50 ms")
    try:
        asyncio.run(_run(parser.parse_args()))
    except KeyboardInterrupt:
        print("Stopped.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
