"""One agent program of tests/acceptance/sdks, run against a simulated engine, and the engine's truth about it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from agents.clock import Clock
from agents.engine import CostModel, Playbook, Reply, SimulatedEngine, call, serve
from agents.engine.core import Scheduler, Sequence
from agents.engine.pump import Pump
from agents.telemetry import Telemetry
from dashboard.snippets import snippets
from tests.instance import Instance

SDKS = Path(__file__).parent / "sdks"
QUESTION, ANSWER = "Where is order 7?", "Order 7 left the warehouse this morning and comes tomorrow."
# A prompt of a hundred tokens takes a quarter of a second and so do five tokens of an answer: a first token is far
# from a call's start and from its end, even where a busy machine is late.
COSTS = CostModel(prefill_per_token_s=2.5e-3, decode_base_s=0.05)
ENDS_WITHIN_S = 90
IMPORTS = {
    "openinference_openai": "openinference.instrumentation.openai",
    "openllmetry_openai": "opentelemetry.instrumentation.openai",
    "pydantic_ai_agent": "pydantic_ai",
}
SENDS_CONTEXT = ("openllmetry_openai",)  # with its requests; the engine's spans are then in the agent's trace


@dataclass(frozen=True)
class Ran:
    """What a program printed, under which names it and its engine report, and what the engine did for it."""

    sdk: str
    service: str
    engine_service: str
    printed: str
    said: str
    sequences: list[Sequence]


class Watched(Pump):
    """A pump that keeps what it is given: afterwards a sequence tells what really happened to it, and when."""

    def __init__(self, scheduler: Scheduler, seen: list[Sequence]) -> None:
        super().__init__(scheduler, Clock())
        self._seen = seen

    def submit(self, sequence: Sequence) -> None:
        self._seen.append(sequence)
        super().submit(sequence)


async def run_sdk(sdk: str, instance: Instance, *, engine_tells: bool) -> Ran:
    """Run the program to its end. ``engine_tells``: the engine, too, sends its spans to the instance; where it does
    not, the program has the start page's set-up."""
    service = f"{sdk}-{'joined' if engine_tells else 'alone'}"
    engine_service = f"{service}-engine"
    playbook = Playbook()
    playbook.plan(QUESTION, Reply(calls=[call("look_up_order", number=7)]), Reply(ANSWER))
    sequences: list[Sequence] = []
    telemetry = Telemetry(engine_service, endpoint=instance.otlp_http, simulated=True) if engine_tells else None
    with telemetry or nullcontext():
        engine = SimulatedEngine("sim-70b", playbook, costs=COSTS, telemetry=telemetry)
        engine.pump = Watched(engine.scheduler, sequences)
        async with serve(engine) as url, _written(sdk, instance, as_shown=engine_tells) as program:
            code, printed, said = await _program(program, _environment(service, instance, url))
    assert code == 0, said
    return Ran(sdk, service, engine_service, printed, said, sequences)


@asynccontextmanager
async def _written(sdk: str, instance: Instance, *, as_shown: bool) -> AsyncIterator[Path]:
    """The program as docs/send-data.md has it, or with the set-up that the start page gives to copy."""
    if as_shown:
        yield SDKS / f"{sdk}.py"
        return
    [snippet] = [one for one in snippets(instance.otlp_http, "", None) if one.key == sdk]
    program = (SDKS / f"{sdk}.py").read_text()
    set_up = next(part for part in program.split("\n\n") if part.startswith("provider = TracerProvider()"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{sdk}.py"
        path.write_text(program.replace(set_up, snippet.text))
        yield path


async def _program(path: Path, environment: dict[str, str]) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(path),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            printed, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, printed.decode(), said.decode()


def _environment(service: str, instance: Instance, engine_url: str) -> dict[str, str]:
    """A user's, without proxies and without settings of OpenTelemetry or OpenAI from outside."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(("OTEL_", "OPENAI_", "SIXSTAGE_", "DJANGO_"))
        and not name.upper().endswith("_PROXY")
    }
    return kept | {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": instance.otlp_http,
        "OPENAI_BASE_URL": engine_url,
        "OPENAI_API_KEY": "none",
    }
