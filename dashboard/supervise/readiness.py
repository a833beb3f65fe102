"""Asks the instance itself whether it is ready, and tells a newcomer what to do with it."""

import asyncio
import time

from dashboard.supervise.console import Console
from dashboard.supervise.options import PORTS, Options

REMIND_S = 20.0


async def wait_ready(options: Options, console: Console) -> None:
    """Return when /readyz answers 200 and both OTLP ports take connections; say at times what is missing."""
    remind_at = time.monotonic() + REMIND_S
    while True:
        missing = await _missing(options)
        if missing is None:
            return
        if time.monotonic() >= remind_at:
            console.say(f"not ready yet: {missing}")
            remind_at += REMIND_S
        await asyncio.sleep(0.25)


async def _missing(options: Options) -> str | None:
    try:
        answer = await asyncio.wait_for(_ask(options, "SIXSTAGE_PORT", "/readyz"), 5)
        if " 200 " not in answer.split("\r\n", 1)[0]:
            return f"/readyz says {answer[9:12]}: {answer[-300:].strip()}"
        for name in ("SIXSTAGE_OTLP_HTTP_PORT", "SIXSTAGE_OTLP_GRPC_PORT"):
            await asyncio.wait_for(_ask(options, name, None), 5)
    except (OSError, TimeoutError) as error:
        return f"{error or type(error).__name__}"
    return None


async def _ask(options: Options, port: str, path: str | None) -> str:
    host = options.reach.strip("[]")
    reader, writer = await asyncio.open_connection(host, options.ports[port])
    try:
        if path is None:
            return ""
        host = f"{options.reach}:{options.ports[port]}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return (await reader.read(4096)).decode(errors="replace")
    finally:
        writer.close()


def banner(options: Options, *, first: bool, seconds: float) -> str:
    """What to open, where to send, where the data is, how to stop."""
    http, grpc = options.url("SIXSTAGE_OTLP_HTTP_PORT"), options.url("SIXSTAGE_OTLP_GRPC_PORT")
    target = "SIXSTAGE_OTLP_HTTP_PORT"
    where = "" if options.ports[target] == PORTS[target] else f"{target}={options.ports[target]} "
    lines = [
        f"Sixstage is {'ready for its first runs' if first else 'back, with the data that it had'} ({seconds:.1f} s).",
        "",
        f"  Open             {options.url('SIXSTAGE_PORT')}",
        "",
        "  Send OTLP/HTTP   export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        f"                   export OTEL_EXPORTER_OTLP_ENDPOINT={http}",
        "  or OTLP/gRPC     export OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
        f"                   export OTEL_EXPORTER_OTLP_ENDPOINT={grpc}",
        "",
        f"  Lively data      {where}make demo      (simulated, in another terminal)",
        f"  Data lies in     {options.places.data_dir}",
        "  Stop             Ctrl-C",
        "",
    ]
    return "".join(f"{line}\n" for line in ["", *lines])
