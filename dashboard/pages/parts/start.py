"""How to send the first span to this instance, with its real addresses, and how far that has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from dashboard.demo_traffic import may_start
from dashboard.snippets import KEY_TO_COME, snippets
from ingest.read.first_hour import FirstHour


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``says`` is what to do while it is not done; ``link`` the page that shows it when it is."""

    done: bool
    title: str
    says: str
    page: str = ""


def exporter(secret: str | None = None) -> dict[str, Any]:
    """What the empty pages say about where to point an exporter; ``secret`` is an ingest key that was just made."""
    config = settings.CONFIG
    host = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host
    needs_key = not settings.SIXSTAGE_OPEN
    otlp_http, otlp_grpc = f"http://{host}:{config.otlp_http_port}", f"http://{host}:{config.otlp_grpc_port}"
    if needs_key:  # its senders may be on other machines, which reach it by the public address
        otlp_http = config.public_url
        otlp_grpc = f"http://{urlsplit(otlp_http).hostname}:{settings.SIXSTAGE_OTLP_GRPC_PORT}"
    return {
        "otlp_http": otlp_http,
        "otlp_grpc": otlp_grpc,
        # The demo sends to the usual port unless it is told otherwise.
        "demo_settings": "" if config.otlp_http_port == 4318 else f"SIXSTAGE_OTLP_HTTP_PORT={config.otlp_http_port} ",
        "needs_key": needs_key,
        "snippets": snippets(otlp_http, otlp_grpc, secret or (KEY_TO_COME if needs_key else None)),
        "may_demo": may_start(),
    }


def steps(told: FirstHour) -> list[Step]:
    return [
        Step(done=told.traces, title="Spans have arrived", page="live",
             says="Nothing has come yet. What was refused stands below, with its reason."),
        Step(done=told.runs, title="They make a run", page="runs",
             says="A run is an agent, a workflow, or a lone model call: spans of the GenAI conventions, OpenInference, "
             "OpenLLMetry or another that is read."),
        Step(done=told.first_tokens, title="A first token is measured, so that prefill and decode are told apart",
             page="runs", says="Stream the answers, and let the SDK record when the first chunk came."),
        Step(done=told.tools, title="A tool was called", page="runs",
             says="Tools need spans of their own, or an SDK that makes them."),
        Step(done=told.engines, title="An engine tells its side: queue, transport, cache", page="engines",
             says="Let vLLM or SGLang send its spans, or give the address of its metrics on the Engines page."),
    ]  # fmt: skip
