"""Row 11: what it takes to scrape many engines, pages parsed, kept and committed.

A process of its own serves a real vLLM's page whose counters rise; its CPU is not counted. What the instance takes
before the first target is there is taken off, so that the row is what scraping costs.
"""

import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg

from benchmarks.meter import Meter
from benchmarks.report import Floor, Result, Row
from ingest.engines.pages import read_page
from tests.captures import DATA
from tests.instance import Instance, running_instance
from tests.polling import until

TARGETS, INTERVAL_S = 200, 5
SECONDS, SETTLE_S = 30.0, 8.0
PAGE = DATA / "engines" / "snapshots" / "run4_tiny_preempt-s4-final.prom"
RISING = b"vllm:generation_tokens_total{"


def measure_scraping() -> Result:
    with serving() as port, running_instance(fsync=True) as instance:
        idle = _share(instance)
        for number in range(TARGETS):
            told = {"url": f"http://127.0.1.{number + 1}:{port}/metrics", "interval_ms": INTERVAL_S * 1000}
            instance.api.post("/engines", json=told).raise_for_status()
        until(lambda: _scrapes(instance) >= 2 * TARGETS, 60, "every target has been scraped")
        time.sleep(SETTLE_S)
        before = _scrapes(instance)
        busy = _share(instance)
        done, failed = _scrapes(instance) - before, _failures(instance)
        bytes_each = _bytes(instance)
    share = (sum(busy.values()) - sum(idle.values())) * 100
    wanted = TARGETS / INTERVAL_S * SECONDS
    faults = [f"{failed} scrapes failed"] if failed else []
    if done < wanted * 0.95:
        faults.append(f"{done} scrapes in {SECONDS:.0f} s, not {wanted:.0f}")
    floor = Floor(_parsing_ms() * TARGETS / INTERVAL_S / 10, "parsing alone, with cached heads")
    what = f"of a core, {TARGETS} targets of a real vLLM page each {INTERVAL_S} s"
    return Result(
        rows=[Row(11, what, share, 30, 10, "%", floor=floor, digits=1)],
        facts={
            "scraping": f"{done / SECONDS:.1f} scrapes a second of {len(PAGE.read_bytes()):,} bytes",
            "CPU by program, % of a core": {name: round((busy[name] - idle.get(name, 0)) * 100, 1) for name in busy},
            "bytes on disk a scrape": bytes_each,
        },
        faults=faults,
        read_back=False,
    )


@contextmanager
def serving() -> Iterator[int]:
    """The port of a server in a process of its own, at every address of this machine: each target has one, as real
    engines have."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_: object) -> None:
        """A connection that the instance has closed."""


class _Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    parts: tuple[bytes, bytes] = (b"", b"")
    began_s = 0.0

    def do_GET(self) -> None:
        before, after = self.parts
        body = before + b"%d.0" % round((time.monotonic() - self.began_s) * 100) + after
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=1.0.0; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
            % len(body) + body
        )  # fmt: skip

    def log_message(self, *_: object) -> None:
        pass


def _serve(told: Connection) -> None:
    page = PAGE.read_bytes()
    at = page.index(b" ", page.index(RISING)) + 1
    _Pages.parts, _Pages.began_s = (page[:at], page[page.index(b"\n", at) :]), time.monotonic()
    server = _Server(("", 0), _Pages)
    told.send(server.server_port)
    server.serve_forever()


def _share(instance: Instance) -> dict[str, float]:
    meter, began_s = Meter(instance), time.monotonic()
    time.sleep(SECONDS)
    spent = meter.spent_s()
    return {name: seconds / (time.monotonic() - began_s) for name, seconds in spent.items()}


def _parsing_ms() -> float:
    page, reads = Path(PAGE).read_bytes(), 200
    read_page(page, target="benchmark")
    began_s = time.process_time()
    for _ in range(reads):
        read_page(page, target="benchmark")
    return (time.process_time() - began_s) / reads * 1000


def _scrapes(instance: Instance) -> int:
    return _asked(instance, "SELECT count(*) FROM ingest_engine_sample")


def _failures(instance: Instance) -> int:
    return _asked(instance, "SELECT count(*) FROM ingest_engine_failure")


def _bytes(instance: Instance) -> int:
    size = "SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent = %s::regclass"
    return round(_asked(instance, size, "ingest_engine_sample") / max(1, _scrapes(instance)))


def _asked(instance: Instance, sql: str, *parameters: str) -> int:
    with psycopg.connect(instance.database_url) as connection:
        row = connection.execute(sql, parameters).fetchone()
    return int(row[0]) if row else 0


if __name__ == "__main__":
    from benchmarks.report import as_markdown

    result = measure_scraping()
    print(as_markdown(result), json.dumps(list(result.faults)))
