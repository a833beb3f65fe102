"""Serve an engine on a loopback port, in this process, next to the agents that use it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import uvicorn

from agents.engine.app import SimulatedEngine


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.leave = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait to be told, where uvicorn looks ten times a second."""
        await self.leave.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave Ctrl-C to whoever runs the engine."""
        yield


@asynccontextmanager
async def serve(engine: SimulatedEngine, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """The engine's base URL (``http://host:port/v1``), for the length of the block. Port 0: a free one."""
    # Named as TCP, or asyncio does not turn Nagle's algorithm off, and each first token is up to 40 ms late.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()  # from here on connections wait for the server rather than being refused
        # log_config None: this process's logging is its owner's.
        config = uvicorn.Config(
            engine,
            log_config=None,
            access_log=False,
            date_header=False,  # it is the loop replaced above that keeps it up to date
            lifespan="off",
            ws="none",
            # Longer than httpx keeps an idle connection (5 s, as uvicorn's own default): who closes must be the client,
            # or now and then a request goes out on a connection that is just being closed.
            timeout_keep_alive=30,
            timeout_graceful_shutdown=10,  # answers whose clients left end at once, if the machine has time
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        stepping = asyncio.create_task(engine.pump.run())
        try:
            yield f"http://{host}:{listener.getsockname()[1]}/v1"
        finally:
            server.leave.set()
            await serving
            stepping.cancel()
            with suppress(asyncio.CancelledError):
                await stepping
