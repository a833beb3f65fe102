"""Where the demo sends its spans, and whether anybody is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx
from opentelemetry.util.re import parse_env_headers

from agents.telemetry.export import is_loopback, traces_url

START_FIRST = "Start Sixstage with `make up` first, or set OTEL_EXPORTER_OTLP_ENDPOINT (or --endpoint)."


class NotReadyError(Exception):
    """The endpoint does not take spans; the text says what to do."""


@dataclass(frozen=True)
class Target:
    """An OTLP/HTTP endpoint as the environment names it."""

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, endpoint: str | None, environ: Mapping[str, str]) -> Target:
        """The argument wins, then OpenTelemetry's variable, then Sixstage's host and port."""
        host = environ.get("SIXSTAGE_HOST") or "127.0.0.1"
        # An address that a server listens on at large is no address to send to.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        port = environ.get("SIXSTAGE_OTLP_HTTP_PORT") or "4318"
        own = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        headers = dict(parse_env_headers(environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""), liberal=True))
        if key := environ.get("SIXSTAGE_INGEST_KEY"):
            headers["authorization"] = f"Bearer {key}"
        return cls(endpoint or environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or own, headers)

    @property
    def url(self) -> str:
        return traces_url(self.endpoint)

    def check(self, timeout_s: float = 5.0) -> None:
        """Send an empty request, which OTLP answers with success. Raises `NotReadyError`."""
        headers = {"Content-Type": "application/x-protobuf", **self.headers}
        try:
            with httpx.Client(trust_env=not is_loopback(self.url), timeout=timeout_s) as client:
                response = client.post(self.url, content=b"", headers=headers)
        except httpx.HTTPError as error:
            raise NotReadyError(f"Nobody answers at {self.url} ({error or type(error).__name__}). {START_FIRST}")
        if response.status_code in (401, 403):
            raise NotReadyError(
                f"{self.url} answers {response.status_code}: it wants an ingest key. "
                "Set SIXSTAGE_INGEST_KEY to one of its project's keys."
            )
        if not response.is_success:
            raise NotReadyError(
                f"{self.url} answers {response.status_code}, not as an OTLP/HTTP endpoint does. {START_FIRST}"
            )
