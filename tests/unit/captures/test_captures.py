"""The captures in tests/data are whole, say what their readable forms say, and tell of no machine."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.captures import DATA, Body, Capture, captures
from tests.tools.copy_captures import GZIP_MAGIC, scrub

CORPUS, JOINED = captures("corpus"), captures("joined")
IDS = {"traceId", "spanId", "parentSpanId"}
Seen = tuple[str, str, str | None, str, int, int]

# Nothing here may say where, on what or by whom it was recorded.
PLACES = re.compile(rb"/(?:home|mnt|opt|root|srv|tmp|Users|work|workspace)/")
PEOPLE = re.compile(rb"[\w.+-]+@[\w-]+\.\w+|(?:BEGIN [A-Z ]*PRIVATE KEY)|\bsk-(?!lf-x\b)[A-Za-z0-9]{8,}")


def test_there_are_all_the_captures_that_the_product_is_held_against() -> None:
    assert len(CORPUS) == 96
    assert len(JOINED) == 32


@pytest.mark.parametrize("capture", CORPUS + JOINED, ids=lambda capture: capture.name)
def test_every_body_decodes_to_the_spans_that_its_readable_form_tells(capture: Capture) -> None:
    decoded = sorted(span for body in capture.bodies if body.signal == "traces" for span in _spans(body))

    assert decoded == sorted(
        (s["trace_id"], s["span_id"], s["parent_id"], s["name"], s["start_ns"], s["end_ns"]) for s in capture.spans
    )


@pytest.mark.parametrize("capture", CORPUS + JOINED, ids=lambda capture: capture.name)
def test_every_meta_file_tells_its_bodys_size(capture: Capture) -> None:
    for body in capture.bodies:
        size = body.path.stat().st_size
        assert body.meta["bytes"] == size
        if body.meta["transport"] == "http":
            assert int(body.meta["headers"].get("content-length", size)) == size


def test_no_file_tells_of_a_machine_or_a_person() -> None:
    for path, content in _contents():
        assert not PLACES.search(content), path
        assert not PEOPLE.search(content), path
        assert scrub(content) == content, path


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (b'File "/srv/lab/venvs/a/agent.py", line 3', b'File "/xxx/xxx/venvs/a/agent.py", line 3'),
        (b"sqlite:////home/ann/x.db", b"sqlite:////xxxx/xxx/x.db"),
        (b"at file:///Users/ann/agent.mjs:3", b"at file:///xxxxx/xxx/agent.mjs:3"),
        (b"\n\thost.name\x12\x07\n\x05node3\n\x07os.type", b"\n\thost.name\x12\x07\n\x05xxxxx\n\x07os.type"),
        (b'{"host.name": "node3"}', b'{"host.name": "xxxxx"}'),
        (b'{"key":"host.id","value":{"stringValue":"ab12"}}', b'{"key":"host.id","value":{"stringValue":"xxxx"}}'),
        (b"5.10.2-aws-v31", b"5.10.x-xxx-xxx"),
        (b"https://api.example/v1/traces", b"https://api.example/v1/traces"),
    ],
)
def test_it_masks_what_tells_of_a_machine_and_nothing_else(said: bytes, kept: bytes) -> None:
    assert scrub(said) == kept


def _contents() -> Iterator[tuple[Path, bytes]]:
    """Every file below tests/data, unfolded, with its own name before it."""
    for path in DATA.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            plain = gzip.decompress(content) if content.startswith(GZIP_MAGIC) else content
            yield path, str(path.relative_to(DATA)).encode() + b"\n" + plain


def _spans(body: Body) -> Iterator[Seen]:
    request = ExportTraceServiceRequest()
    if body.is_json:
        json_format.Parse(_with_base64_ids(body.content()), request, ignore_unknown_fields=True)
    else:
        request.ParseFromString(body.content())
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                parent = span.parent_span_id.hex() or None
                times = span.start_time_unix_nano, span.end_time_unix_nano
                yield span.trace_id.hex(), span.span_id.hex(), parent, span.name, *times


def _with_base64_ids(content: bytes) -> bytes:
    """OTLP/JSON has hex ids where proto3 JSON, which the parser reads, has base64."""

    def turned(value: Any) -> Any:
        if isinstance(value, list):
            return [turned(item) for item in value]
        if isinstance(value, dict):
            return {
                key: base64.b64encode(bytes.fromhex(item)).decode() if key in IDS else turned(item)
                for key, item in value.items()
            }
        return value

    return json.dumps(turned(json.loads(content))).encode()
