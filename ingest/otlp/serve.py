"""The receiver process: OTLP/HTTP and OTLP/gRPC on their own ports. ``python -m ingest.otlp.serve``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

import django
import uvicorn
import uvloop

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings_behind")
django.setup()

from django.conf import settings

from ingest.observing.reporter import Reporter
from ingest.otlp.connections import KEEP_ALIVE_S, PatientProtocol, allow_many_files
from ingest.otlp.grpc_service import make_server
from ingest.otlp.guarded import guarded
from ingest.otlp.http import Receive, Scope, Send, serve_export
from ingest.otlp.receiver import Receiver, open_receiver

STOP_GRACE_S = 5


async def serve() -> None:
    """Serve until SIGTERM or SIGINT; requests under way are answered first."""
    allow_many_files()
    host = settings.SIXSTAGE_HOST
    reporter = Reporter("receiver", settings.SIXSTAGE_DATABASE_URL, settings.SIXSTAGE_REDIS_URL).start()
    async with open_receiver() as receiver:
        grpc_server = make_server(receiver, f"{host}:{settings.SIXSTAGE_OTLP_GRPC_PORT}")
        await grpc_server.start()
        http_server = uvicorn.Server(
            uvicorn.Config(
                guarded(_app(receiver)), host=host, port=settings.SIXSTAGE_OTLP_HTTP_PORT, lifespan="off",
                http=PatientProtocol, timeout_keep_alive=KEEP_ALIVE_S, access_log=False, log_level="warning",
                timeout_graceful_shutdown=STOP_GRACE_S,
                limit_concurrency=None, backlog=1024,
                log_config=None,  # Django's settings say how lines look
            )
        )  # fmt: skip
        try:
            await http_server.serve()
        finally:
            await grpc_server.stop(STOP_GRACE_S)
    await asyncio.to_thread(reporter.stop)


def _app(receiver: Receiver):  # type: ignore[no-untyped-def]
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await serve_export(receiver, scope, receive, send)

    return app


def main() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(serve())
    sys.exit(0)


if __name__ == "__main__":
    main()
