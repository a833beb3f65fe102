"""What the same load costs when as little as possible is done with it, in one process and on the same PostgreSQL.

`python -m benchmarks.floor FILE DATABASE_URL`. Nothing of Sixstage is used: bytes are parsed (upb), each span becomes
15 typed columns and itself under zstd, COPY writes them, and a commit follows each four batches.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.loads import GENERATOR, whole
from tests.instance import ROOT, Instance

LOAD_SPANS = 46_080
LEVEL = 3
BATCHES_A_COMMIT = 4
TABLE = """
    CREATE TABLE {table} (
        trace_id bytea, span_id bytea, parent_id bytea, name text, kind smallint, start_ns bigint, end_ns bigint,
        status smallint, service text, operation text, provider text, model text, input_tokens bigint,
        output_tokens bigint, conversation text, span bytea
    )
"""
TYPES = ["bytea", "bytea", "bytea", "text", "int2", "int8", "int8", "int2", "text", "text", "text", "text", "int8",
         "int8", "text", "bytea"]  # fmt: skip
TEXTS = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.conversation.id")
NUMBERS = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
WANTED = frozenset((*TEXTS, *NUMBERS))


def measure_floor(instance: Instance) -> dict[str, float]:
    """Make a load and put it through the floor in a fresh process, and then in two at once.

    ``parse_us`` and ``prototype_us`` are CPU time per span, the second with PostgreSQL's; ``per_s`` spans a second;
    ``zstd_bytes`` what a span takes in a batch under zstd. ``busy_us`` is the prototype's CPU time while two of it run:
    cores that share caches or execution units are slower then, and the product is measured with both busy.
    """
    with tempfile.TemporaryDirectory(prefix="sixstage-floor-") as folder:
        dump = Path(folder) / "load"
        load = [sys.executable, str(GENERATOR), "http://127.0.0.1:1/", f"--spans={whole(LOAD_SPANS)}", f"--dump={dump}"]
        subprocess.run(load, stdout=subprocess.DEVNULL, timeout=60, check=True)
        command = [sys.executable, "-m", "benchmarks.floor", str(dump), instance.database_url]
        (alone,) = _run_at_once([command])
        with psycopg.connect(instance.database_url) as connection:
            server_s = _server_s(connection)
            both = _run_at_once([command, command])
            server_s = _server_s(connection) - server_s
    own_s = sum(one["own_s"] for one in both)
    return alone | {"busy_us": (own_s + server_s) / sum(one["spans"] for one in both) * 1e6}


def mean(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Of what was measured before and after, figure by figure."""
    return {name: (value + after[name]) / 2 for name, value in before.items()}


def _run_at_once(commands: list[list[str]]) -> list[dict[str, float]]:
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for command in commands]
    try:
        told = [one.communicate(timeout=120)[0] for one in running]
    finally:
        for one in running:
            one.kill()
    for one in running:
        if one.returncode:
            raise subprocess.CalledProcessError(one.returncode, one.args)
    return [json.loads(answer) for answer in told]


def main(dump: Path, database_url: str) -> None:
    bodies = list(_bodies(dump))
    parse_s = min(_parse_s(bodies) for _ in range(3))
    spans = sum(len(scope.spans) for body in bodies for scope in _scopes(body))
    zstd = zstandard.ZstdCompressor(LEVEL)
    table = f"bench_floor_{os.getpid()}"
    with psycopg.connect(database_url) as connection:
        connection.execute(TABLE.format(table=table))
        connection.commit()
        try:
            began_s, own_s, server_s = time.monotonic(), time.process_time(), _server_s(connection)
            for at in range(0, len(bodies), BATCHES_A_COMMIT):
                _store(connection, table, bodies[at : at + BATCHES_A_COMMIT], zstd)
            wall_s, own_s = time.monotonic() - began_s, time.process_time() - own_s
            cpu_s = own_s + _server_s(connection) - server_s
        finally:
            connection.rollback()
            connection.execute(f"DROP TABLE {table}")
    found = {
        "parse_us": parse_s / spans * 1e6,
        "prototype_us": cpu_s / spans * 1e6,
        "own_s": own_s,
        "spans": spans,
        "per_s": spans / wall_s,
        "zstd_bytes": sum(len(zstd.compress(body)) for body in bodies) / spans,
    }
    json.dump(found, sys.stdout)


def _bodies(dump: Path) -> Iterator[bytes]:
    raw, at = dump.read_bytes(), 0
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at)[0]
        yield raw[at + 4 : at + 4 + size]
        at += 4 + size


def _parse_s(bodies: list[bytes]) -> float:
    began_s = time.process_time()
    for body in bodies:
        ExportTraceServiceRequest.FromString(body)
    return time.process_time() - began_s


def _scopes(body: bytes) -> Iterator[Any]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        yield from resource.scope_spans


def _store(connection: psycopg.Connection, table: str, bodies: list[bytes], zstd: zstandard.ZstdCompressor) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(TYPES)
        for body in bodies:
            for row in _rows(body, zstd):
                copy.write_row(row)
    connection.commit()


def _rows(body: bytes, zstd: zstandard.ZstdCompressor) -> Iterator[tuple[Any, ...]]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = next((a.value.string_value for a in resource.resource.attributes if a.key == "service.name"), None)
        for scope in resource.scope_spans:
            for span in scope.spans:
                known = {a.key: a.value for a in span.attributes if a.key in WANTED}
                texts = [known[key].string_value if key in known else None for key in TEXTS]
                numbers = [known[key].int_value if key in known else None for key in NUMBERS]
                yield (
                    span.trace_id, span.span_id, span.parent_span_id or None, span.name, span.kind,
                    span.start_time_unix_nano, span.end_time_unix_nano, span.status.code, service,
                    *texts[:3], *numbers, texts[3], zstd.compress(span.SerializeToString()),
                )  # fmt: skip


def _server_s(connection: psycopg.Connection) -> float:
    """CPU time of the server with all of its processes. What others ask of it meanwhile counts: let it be idle."""
    server = psutil.Process(connection.info.backend_pid).parent()
    if server is None or server.pid == os.getpid():
        return 0.0
    spent = 0.0
    for process in [server, *server.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # counted in its parent's times of children by now
        spent += times.user + times.system + times.children_user + times.children_system
    return spent


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
