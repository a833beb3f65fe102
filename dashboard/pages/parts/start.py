"""How to send the first span to this instance, with its real addresses."""

from __future__ import annotations

from typing import Any

from django.conf import settings


def exporter() -> dict[str, Any]:
    """What the empty pages say about where to point an exporter."""
    config = settings.CONFIG
    host = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host
    return {
        "otlp_http": f"http://{host}:{config.otlp_http_port}",
        "otlp_grpc": f"http://{host}:{config.otlp_grpc_port}",
        # The demo sends to the usual port unless it is told otherwise.
        "demo_settings": "" if config.otlp_http_port == 4318 else f"SIXSTAGE_OTLP_HTTP_PORT={config.otlp_http_port} ",
        "needs_key": not settings.SIXSTAGE_OPEN,
    }
