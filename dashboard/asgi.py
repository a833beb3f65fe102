"""The web process: one gate, then OTLP as a bare function, static files, sockets, and Django for the rest."""

from __future__ import annotations

import asyncio
import gc
import os
from contextlib import AsyncExitStack

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

from django.core.asgi import get_asgi_application

pages = get_asgi_application()  # sets Django up: what follows needs its models

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.urls import path

from dashboard.live import LiveConsumer
from dashboard.pooling import pooled_connections
from dashboard.static_files import StaticFiles
from ingest.observing.reporter import Reporter
from ingest.otlp.guarded import guarded
from ingest.otlp.http import ROUTES, Receive, Scope, Send, serve_export
from ingest.otlp.receiver import Receiver, open_receiver

GC_THRESHOLDS = (10_000, 10, 10)  # requests leave cycles, so more often than a worker

sockets = AuthMiddlewareStack(URLRouter([path("ws/live/", LiveConsumer.as_asgi())]))


class Application:
    """Routes a connection to what serves it; its receiver lives from start-up to shutdown."""

    def __init__(self) -> None:
        self.receiver: Receiver | None = None
        self.static = StaticFiles()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await _gate(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        reporter = Reporter("web", settings.SIXSTAGE_DATABASE_URL, settings.SIXSTAGE_REDIS_URL).start()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, reporter.stop)
            while True:
                message = await receive()
                if message["type"] == "lifespan.startup":
                    stack.enter_context(pooled_connections())
                    self.receiver = await stack.enter_async_context(open_receiver())
                    _calm_collector()
                    await send({"type": "lifespan.startup.complete"})
                else:
                    break
        self.receiver = None
        await send({"type": "lifespan.shutdown.complete"})

    async def route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await _socket(scope, receive, send)
        elif self.receiver is not None and scope["path"].rstrip("/") in ROUTES:
            await serve_export(self.receiver, scope, receive, send)
        elif self.static.has(scope["path"]):
            await self.static.serve(scope, receive, send)
        else:
            await pages(scope, receive, send)


def _calm_collector() -> None:
    """As in a worker: a page of a large run makes 100,000 values and no cycle, and by default the collector looks at
    all that start-up made again and again meanwhile: half of such a page's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


async def _socket(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/ws/live/":
        await sockets(scope, receive, send)
    else:
        await receive()
        await send({"type": "websocket.close", "code": 4404, "reason": "no such socket; the live one is /ws/live/"})


application = Application()
_gate = guarded(application.route)
