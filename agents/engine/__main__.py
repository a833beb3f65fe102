"""``python -m agents.engine``: a simulated engine that any OpenAI client can talk to."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import ExitStack

from agents.clock import Clock
from agents.engine import CostModel, EventLog, Playbook, SimulatedEngine, serve
from agents.engine.core.profiles import BF16, FP8, INT4
from agents.engine.core.speculation import EAGLE_3, P_EAGLE
from agents.engine.telling.style import STYLES
from agents.telemetry import Telemetry

PRECISIONS = {each.name: each for each in (BF16, FP8, INT4)}
DRAFTERS = {"none": None, "eagle-3": EAGLE_3, "p-eagle": P_EAGLE}


async def _run(options: argparse.Namespace) -> None:
    with ExitStack() as stack:
        sender = log = None
        if options.otlp:
            resource = STYLES[options.style].resource
            sender = stack.enter_context(
                Telemetry(options.service, endpoint=options.otlp, simulated=True, resource=resource)
            )
        if options.log:
            log = EventLog(steps=True, file=stack.enter_context(open(options.log, "a", buffering=1)))
        engine = SimulatedEngine(
            options.model,
            Playbook(seed=options.seed),
            style=STYLES[options.style],
            quantisation=PRECISIONS[options.precision],
            speculation=DRAFTERS[options.speculation],
            telemetry=sender,
            clock=Clock(options.speed),
            seed=options.seed,
            log=log,
            costs=CostModel(first_step_s=options.warm_up),
            holds_calls=options.hold_calls,
        )
        async with serve(engine, port=options.port) as url:
            print(f"Simulated engine with model {options.model} at {url}. Ctrl-C stops.", flush=True)
            await asyncio.Event().wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m agents.engine", description=__doc__)
    parser.add_argument("--model", default="sim-70b")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--style", choices=STYLES, default="vllm", help="whose spans, page and KV memory it has")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp8", help="of the weights")
    parser.add_argument("--speculation", choices=DRAFTERS, default="none")
    parser.add_argument("--hold-calls", action="store_true", help="a tool parser that sends a call when it is whole")
    parser.add_argument("--warm-up", type=float, default=0.0, help="seconds that the first step takes longer")
    parser.add_argument("--otlp", default="", help="where its spans go, such as http://127.0.0.1:4318")
    parser.add_argument("--log", default="", help="a file for its event log, a line of JSON for each event")
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
