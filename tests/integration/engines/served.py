"""An HTTP server whose page is what a test wants it to be: good, bad, slow, half, huge."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.captures import DATA

REAL = (DATA / "engines" / "snapshots" / "run4_tiny_preempt-s4-final.prom").read_bytes()
BEFORE = (DATA / "engines" / "snapshots" / "run4_tiny_preempt-s0-before.prom").read_bytes()
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Served

    def do_GET(self) -> None:
        self.served.seen.append((self.path, dict(self.headers)))
        self.served.answers.get(self.path, missing)(self)

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, body: bytes, status: int = 200, content_type: str = "text/plain; version=0.0.4") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Served:
    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    ending: threading.Event = field(default_factory=threading.Event)

    def put(self, path: str, answer: Answer) -> str:
        """Answer so under a path; returns its URL."""
        self.answers[path] = answer
        return f"{self.url}{path}"


@contextmanager
def serving() -> Iterator[Served]:
    served = Served()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"served": served}))
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()


def missing(handler: Handler) -> None:
    handler.answer(b"no such page", 404)


def page(body: bytes) -> Answer:
    return lambda handler: handler.answer(body)


def status(code: int) -> Answer:
    return lambda handler: handler.answer(b"trouble", code)


def html(handler: Handler) -> None:
    handler.answer(b"<!doctype html><title>Sign in</title>", content_type="text/html; charset=utf-8")


def hangs(handler: Handler) -> None:
    handler.served.ending.wait(30)
    handler.close_connection = True


def drips(handler: Handler) -> None:
    """A byte now and then: no read takes long, the whole never comes."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(REAL)))
    handler.end_headers()
    try:
        for at in range(200):
            handler.wfile.write(REAL[at : at + 1])
            if handler.served.ending.wait(0.05):
                break
    except OSError:
        pass
    handler.close_connection = True


def half(handler: Handler) -> None:
    """As much as was sent before the connection broke."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(REAL)))
    handler.end_headers()
    handler.wfile.write(REAL[: len(REAL) // 2])
    handler.close_connection = True


def half_unnoticed(handler: Handler) -> None:
    """The same by a server that tells no length and closes as if that were all."""
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(REAL[: len(REAL) // 2])
    handler.close_connection = True


def huge(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(800):
            handler.wfile.write(b"#" * 65_535 + b"\n")
    except OSError:
        pass
    handler.close_connection = True


def counting(number: int, running: int = 1) -> bytes:
    """A small page of a vLLM that has finished so many requests of a second each."""
    return f"""# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="tiny"}} {running}.0
vllm:num_requests_waiting{{engine="0",model_name="tiny"}} 0.0
vllm:generation_tokens_total{{engine="0",model_name="tiny"}} {number * 10}.0
vllm:request_success_total{{engine="0",finished_reason="stop",model_name="tiny"}} {number}.0
vllm:e2e_request_latency_seconds_bucket{{engine="0",le="0.5",model_name="tiny"}} 0.0
vllm:e2e_request_latency_seconds_bucket{{engine="0",le="+Inf",model_name="tiny"}} {number}.0
vllm:e2e_request_latency_seconds_sum{{engine="0",model_name="tiny"}} {number}.0
vllm:e2e_request_latency_seconds_count{{engine="0",model_name="tiny"}} {number}.0
""".encode()
