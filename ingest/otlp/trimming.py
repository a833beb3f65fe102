"""What of a request is not kept: text, where a project keeps none; the rest of values that are over the limit.

Changes messages in place, before they are serialised. A span that is smaller than the limit holds nothing larger, so
where nothing is to be cut this costs one comparison a span.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from ingest.semconv.log_events import PREFIX
from ingest.semconv.payload import bones, error_line, left_out, without_payload
from ingest.semconv.shortening import shortened, shortened_text, size_of

CUT_KEY = "sixstage.cut"
NAMES_MOST = 100  # cut values of one item that are listed by name


@dataclass(frozen=True, slots=True)
class Trimming:
    """What is kept of a value. ``limit_bytes`` 0 means no limit."""

    limit_bytes: int = 0
    payload: bool = True

    def strip(self, request: Any) -> None:
        """Take the text out of all spans and log records of a request, if the project keeps none."""
        if self.payload:
            return
        for resource in getattr(request, "resource_spans", ()):
            for scope in resource.scope_spans:
                for span in scope.spans:
                    _strip_span(span)
        for resource in getattr(request, "resource_logs", ()):
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    _strip_record(record)

    def cut_item(self, item: Any) -> bytes:
        """A span or log record whose values fit, serialised; what was cut stands in its attribute CUT_KEY."""
        cuts: dict[str, int] = {}
        limit = self.limit_bytes
        self._cut_pairs(item.attributes, "", cuts)
        if hasattr(item, "body"):
            _cut_value(item.body, "body", limit, cuts)
        for event in getattr(item, "events", ()):
            _cut_field(event, "name", "event name", limit, cuts)
            self._cut_pairs(event.attributes, f"{event.name[:100]}: ", cuts)
        for link in getattr(item, "links", ()):
            self._cut_pairs(link.attributes, "link: ", cuts)
        if hasattr(item, "status"):
            _cut_field(item, "name", "name", limit, cuts)
            _cut_field(item.status, "message", "status message", limit, cuts)
        if cuts:
            _tell(item.attributes, cuts)
        return bytes(item.SerializeToString())

    def cut_resource(self, resource: Any) -> bytes:
        """A resource or scope whose values fit, serialised."""
        cuts: dict[str, int] = {}
        self._cut_pairs(resource.attributes, "", cuts)
        if cuts:
            _tell(resource.attributes, cuts)
        return bytes(resource.SerializeToString())

    def _cut_pairs(self, pairs: Iterable[Any], where: str, cuts: dict[str, int]) -> None:
        for pair in pairs:
            _cut_value(pair.value, f"{where}{pair.key[:200]}", self.limit_bytes, cuts)


NOTHING_TRIMMED = Trimming()


def _cut_value(value: AnyValue, name: str, limit_bytes: int, cuts: dict[str, int]) -> None:
    if value.ByteSize() <= limit_bytes:  # what holds it counts as a few bytes
        return
    python = _python(value)
    kept = shortened(python, limit_bytes)
    if kept is not python and kept != python:
        cuts[name] = size_of(python) if isinstance(python, str) else value.ByteSize()
        value.CopyFrom(_any_value(kept))


def _cut_field(message: Any, field: str, name: str, limit_bytes: int, cuts: dict[str, int]) -> None:
    text = getattr(message, field)
    if len(text) * 4 > limit_bytes and (size := size_of(text)) > limit_bytes:
        cuts[name] = size
        setattr(message, field, shortened_text(text, limit_bytes))


def _tell(attributes: Any, cuts: dict[str, int]) -> None:
    told = attributes.add(key=CUT_KEY).value.kvlist_value
    for name, size in list(cuts.items())[:NAMES_MOST]:
        told.values.add(key=name).value.int_value = size


def _strip_span(span: Any) -> None:
    _strip_pairs(span.attributes)
    for event in span.events:
        _strip_pairs(event.attributes)
    for link in span.links:
        _strip_pairs(link.attributes)
    if span.status.message:
        span.status.message = error_line(span.status.message)


def _strip_record(record: Any) -> None:
    _strip_pairs(record.attributes)
    if not record.HasField("body"):
        return
    body = _python(record.body)
    name = record.event_name or next((p.value.string_value for p in record.attributes if p.key == "event.name"), "")
    if isinstance(body, str | bytes):
        kept: Any = left_out(len(body)) if body else body
    elif name.startswith(PREFIX) and isinstance(body, dict):
        kept = {key: without_payload(key, value) for key, value in body.items()}
    else:
        kept = bones(body)
    record.body.CopyFrom(_any_value(kept))


def _strip_pairs(pairs: Iterable[Any]) -> None:
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        if kind == "string_value":
            text = pair.value.string_value
            kept = without_payload(pair.key, text)
            if kept is not text:
                pair.value.string_value = kept
        elif kind in ("array_value", "kvlist_value", "bytes_value"):
            pair.value.CopyFrom(_any_value(without_payload(pair.key, _python(pair.value))))


def _python(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_python(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _python(pair.value) for pair in value.kvlist_value.values}
    return getattr(value, kind) if kind else None


def _any_value(value: Any) -> AnyValue:
    made = AnyValue()
    if isinstance(value, bool):
        made.bool_value = value
    elif isinstance(value, int):
        made.int_value = value
    elif isinstance(value, float):
        made.double_value = value
    elif isinstance(value, str):
        made.string_value = value
    elif isinstance(value, bytes):
        made.bytes_value = value
    elif isinstance(value, list | tuple):
        made.array_value.values.extend([_any_value(item) for item in value])
        made.array_value.SetInParent()
    elif isinstance(value, dict):
        made.kvlist_value.values.extend([KeyValue(key=str(k), value=_any_value(v)) for k, v in value.items()])
        made.kvlist_value.SetInParent()
    return made
