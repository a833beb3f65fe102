"""Real receivers of messages: an HTTP server that answers as a test wants, and a mail server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller

from tests.ports import free_port


@dataclass
class Got:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """``answers`` are given in turn, then 200: a status, or None for a connection that breaks after the body came."""

    url: str = ""
    got: list[Got] = field(default_factory=list)
    answers: list[int | None] = field(default_factory=list)
    retry_after: str = ""


class Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        receiver = self.receiver
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.got.append(Got(self.path, headers, body))
        status = receiver.answers.pop(0) if receiver.answers else 200
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        if receiver.retry_after:
            self.send_header("Retry-After", receiver.retry_after)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"receiver": receiver}))
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class MailServer:
    """``refusals`` are answers to the next messages, as SMTP writes them."""

    port: int = 0
    got: list[EmailMessage] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def handle_DATA(  # noqa: N802
        self, _server: Any, _session: Any, envelope: Any
    ) -> str:
        if self.refusals:
            return self.refusals.pop(0)
        self.got.append(message_from_bytes(envelope.content, policy=policy.default))  # type: ignore[arg-type]
        return "250 taken"


@contextmanager
def mailing(settings: Any, sender: str) -> Iterator[MailServer]:
    """A mail server, and Django's settings so that it is the one that mail is given to."""
    port = free_port()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"  # pytest-django puts in one that keeps mail
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    settings.DEFAULT_FROM_EMAIL = sender
    server = MailServer(port=port)
    controller = Controller(server, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()
