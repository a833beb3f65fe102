"""OTLP/JSON, which is proto3 JSON but for its ids: hex here, base64 there.

Messages are built item by item, so that an odd span costs itself alone.
"""

from __future__ import annotations

import base64
import json
import string
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from ingest.models.telemetry import Signal
from ingest.otlp.errors import BadData
from ingest.otlp.requests import ITEMS, PATHS, REQUESTS, Refusals

_LISTS = {
    Signal.TRACES: ("resourceSpans", "scopeSpans", "spans"),
    Signal.METRICS: ("resourceMetrics", "scopeMetrics", "metrics"),
    Signal.LOGS: ("resourceLogs", "scopeLogs", "logRecords"),
}
_ID_SIZES = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
_HEX = frozenset(string.hexdigits)


def parse_json(signal: Signal, data: bytes, refusals: Refusals) -> Message:
    """The request in an OTLP/JSON body.

    Raises BadData for what is no JSON object, or is plainly another signal's. A body that holds keys but
    none that we know (snake_case, say) is empty by the specification's rules; a remark tells.
    """
    request = REQUESTS[signal]()
    if not data.strip():
        return request
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadData(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadData(f"the body must be a JSON object with {_LISTS[signal][0]}")
    outer, middle, inner = _LISTS[signal]
    if body and outer not in body:
        _explain_foreign_keys(signal, body, refusals)
    for resource_part in _objects(body.get(outer), outer):
        kept = _message(
            request.DESCRIPTOR.fields_by_name, outer, {k: v for k, v in resource_part.items() if k != middle}
        )
        for scope_part in _objects(resource_part.get(middle), middle):
            scoped = {key: value for key, value in scope_part.items() if key != inner}
            scope_kept = _message(kept.DESCRIPTOR.fields_by_name, middle, scoped)
            items = getattr(scope_kept, scope_kept.DESCRIPTOR.fields_by_number[2].name)
            for item in _objects(scope_part.get(inner), inner):
                _add_item(items, item, signal, refusals)
            getattr(kept, kept.DESCRIPTOR.fields_by_number[2].name).append(scope_kept)
        getattr(request, request.DESCRIPTOR.fields[0].name).append(kept)
    return request


def _add_item(items: Any, item: dict[str, Any], signal: Signal, refusals: Refusals) -> None:
    before = len(items)
    try:
        _ids_to_base64(item)
        for link in [*(item.get("links") or ()), *_exemplars(item)]:
            _ids_to_base64(link)
        json_format.ParseDict(item, items.add(), ignore_unknown_fields=True)
    except (ValueError, TypeError, AttributeError, RecursionError, json_format.ParseError) as error:
        del items[before:]
        refusals.refuse(f"one of the {ITEMS[signal]} cannot be read: {str(error)[:200]}")


def _ids_to_base64(item: dict[str, Any]) -> None:
    """Write ids as protobuf's JSON parser reads them. Case does not matter; an empty parent is none."""
    for key, size in _ID_SIZES.items():
        value = item.get(key)
        if value is None or value == "":
            item.pop(key, None)
            continue
        if not isinstance(value, str) or len(value) != 2 * size or not _HEX.issuperset(value):
            raise ValueError(
                f"{key} must be {2 * size} hex digits, got {str(value)[:48]!r}"
                + ("; that looks like base64, which OTLP/JSON does not use for ids" if _base64_of(value, size) else "")
            )
        item[key] = base64.b64encode(bytes.fromhex(value)).decode()


def _base64_of(value: Any, size: int) -> bool:
    try:
        return len(base64.b64decode(value, validate=True)) == size
    except (ValueError, TypeError):
        return False


def _exemplars(item: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = (item.get(kind) for kind in ("gauge", "sum", "histogram", "exponentialHistogram"))
    points = [point for kind in kinds if kind for point in kind.get("dataPoints") or ()]
    return [exemplar for point in points for exemplar in point.get("exemplars") or ()]


def _message(parent_fields: Any, json_name: str, value: dict[str, Any]) -> Any:
    """A message of the list field called ``json_name`` in its parent, filled from ``value``."""
    kind = next(f for f in parent_fields.values() if f.json_name == json_name).message_type
    try:
        return json_format.ParseDict(value, kind._concrete_class(), ignore_unknown_fields=True)
    except (json_format.ParseError, RecursionError, ValueError, TypeError, AttributeError) as error:
        raise BadData(f"{json_name} cannot be read: {str(error)[:200]}") from error


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise BadData(f"{name} must be a list of objects")
    return value


def _explain_foreign_keys(signal: Signal, body: dict[str, Any], refusals: Refusals) -> None:
    for other, (outer, _, _) in _LISTS.items():
        if other != signal and outer in body:
            raise BadData(f"the body holds {outer}: send it to {PATHS[other]}")
    keys = ", ".join(sorted(map(str, body))[:5])
    refusals.remarks.append(
        f"nothing was read: the body has no {_LISTS[signal][0]} but {keys[:200]}; keys are lowerCamelCase in OTLP/JSON"
    )
