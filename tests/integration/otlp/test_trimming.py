"""What is stored of a project that keeps no texts, and of values that are over the limit."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from ingest.chunks import spans_of
from ingest.compression import decompress
from ingest.models import Project
from ingest.semconv import read_facts
from ingest.spans import Span
from tests.integration.otlp.messages import JSON, PROTOBUF, body, json_span, json_traces, logs, partial, span, traces

pytestmark = pytest.mark.django_db(transaction=True)

CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"who": "Ann"}'}}
OUTPUT = json.dumps([{"role": "assistant", "content": "Ann is well. " * 200, "tool_calls": [CALL]}])
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": OUTPUT}


@pytest.fixture
def stored(rows: Any) -> Any:
    def read() -> list[Span]:
        found = rows("SELECT trace_id, body FROM ingest_chunk WHERE signal = 1")
        return [one for row in found for one in spans_of(row["body"], row["trace_id"].hex())]

    return read


async def send(web: httpx.AsyncClient, content: bytes, path: str = "/v1/traces", kind: dict = PROTOBUF) -> None:
    assert partial(await web.post(path, content=content, headers=kind)) == (0, "")


@pytest.fixture
async def silent(project: Project) -> Project:
    """The project keeps no texts."""
    project.keep_payload = False
    await project.asave()
    return project


async def test_a_project_that_keeps_no_texts_has_none(
    web: httpx.AsyncClient, silent: Project, stored: Any, rows: Any
) -> None:
    one = span(attributes=CHAT | {"order.id": "7", "gen_ai.system_instructions": "Ann is the boss"})
    one.events.add(name="gen_ai.user.message").attributes.add(key="content").value.string_value = "I am Ann"
    one.status.code, one.status.message = 2, "no such order\nAnn asked for it"
    await send(web, body(one))
    as_json = json_span(attributes=[{"key": "input.value", "value": {"stringValue": "Ann asks"}}])
    await send(web, json_traces(as_json), kind=JSON)
    record = logs("Ann called", trace_id=one.trace_id, span_id=one.span_id)
    await send(web, record, "/v1/logs")
    await send(web, logs("Ann left"), "/v1/logs")
    bodies = [*rows("SELECT body FROM ingest_chunk"), *rows("SELECT body FROM ingest_body")]
    assert len(bodies) == 4
    for row in bodies:
        assert b"Ann" not in decompress(row["body"])
    kept = next(one for one in stored() if "order.id" in one.attributes)
    assert kept.attributes["order.id"] == "7"
    assert [asked.name for asked in read_facts(kept).asked or ()] == ["look_up"]
    assert kept.status_message.startswith("no such order\n")


async def test_another_project_keeps_its_texts(web: httpx.AsyncClient, project: Project, stored: Any) -> None:
    await send(web, body(span(attributes=CHAT)))
    (kept,) = stored()
    assert kept.attributes["gen_ai.output.messages"] == OUTPUT
    assert "sixstage.cut" not in kept.attributes


async def test_a_value_over_the_limit_is_cut_and_says_so(
    web: httpx.AsyncClient, project: Project, stored: Any, settings: Any, rows: Any
) -> None:
    settings.SIXSTAGE_MAX_ATTRIBUTE_BYTES = 2000
    one = span("n" * 3000, attributes=CHAT | {"note": "é" * 1500, "short": "as it is", "blob": b"b" * 5000})
    one.events.add(name="gen_ai.user.message").attributes.add(key="content").value.string_value = "x" * 9000
    for _ in range(2):  # a retry is cut to the same bytes, and so stored once
        await send(web, body(one))
    (kept,) = stored()
    asked = read_facts(kept).asked or ()
    assert [(tool.name, tool.call_id) for tool in asked] == [("look_up", "call_1")]
    output = kept.attributes["gen_ai.output.messages"]
    assert isinstance(output, str)
    assert "… [cut by Sixstage: 2,600 bytes]" in json.loads(output)[0]["content"]
    assert str(kept.attributes["note"]).endswith("… [cut by Sixstage: 3,000 bytes]")
    assert kept.attributes["short"] == "as it is"
    assert kept.name.endswith("… [cut by Sixstage: 3,000 bytes]")
    assert kept.attributes["sixstage.cut"] == {
        "gen_ai.output.messages": len(OUTPUT), "note": 3000, "blob": 5003, "name": 3000,
        "gen_ai.user.message: content": 9000,
    }  # fmt: skip


async def test_logs_resources_and_structured_values_are_cut_too(
    web: httpx.AsyncClient, project: Project, rows: Any, stored: Any, settings: Any
) -> None:
    settings.SIXSTAGE_MAX_ATTRIBUTE_BYTES = 1024
    request = traces(span())
    request.resource_spans[0].resource.attributes.add(key="env").value.string_value = "e" * 5000
    nested = request.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="nested").value.kvlist_value
    nested.values.add(key="inner").value.string_value = "i" * 5000
    await send(web, request.SerializeToString())
    await send(web, logs("l" * 5000), "/v1/logs")
    found = [*rows("SELECT body FROM ingest_chunk"), *rows("SELECT body FROM ingest_body")]
    sizes = [len(decompress(row["body"])) for row in found]
    assert len(sizes) == 2
    assert max(sizes) < 3000
    (kept,) = stored()
    assert kept.resource["sixstage.cut"] == {"env": 5000}
    assert str(kept.attributes["nested"]["inner"]).endswith("[cut by Sixstage: 5,000 bytes]")  # type: ignore[index, call-overload]


async def test_a_value_of_just_the_limit_is_not_touched(
    web: httpx.AsyncClient, project: Project, stored: Any, settings: Any
) -> None:
    settings.SIXSTAGE_MAX_ATTRIBUTE_BYTES = 2000
    await send(web, body(span(attributes={"a": "x" * 2000, "b": "y" * 2000})))
    (kept,) = stored()
    assert kept.attributes == {"a": "x" * 2000, "b": "y" * 2000}
