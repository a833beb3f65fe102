"""An engine that got no trace context reports into a trace of its own. Its span still joins the call it served."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest.decomposing import Decomposed, decompose_dirty
from ingest.joining import LOOK_AGAIN_NS, look_again
from ingest.models import Project
from ingest.read.run import current_run_id
from ingest.scope import Scope
from ingest.store import Store
from tests.integration.otlp.messages import span
from tests.integration.store.parts import IDLE_NS, SECOND_NS, parts

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "SELECT encode(trace_id, 'hex') AS trace FROM ingest_run"
CALLS = "SELECT encode(trace_id, 'hex') AS trace, queue_ns, prefill_ns FROM ingest_call"
START_NS = 1_790_000_000 * SECOND_NS


def asked(response_id: str = "resp-1") -> Any:
    """A client's call of two seconds that knows its response id."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": response_id}
    times = {"start_time_unix_nano": START_NS, "end_time_unix_nano": START_NS + 2 * SECOND_NS}
    return span("chat m", attributes=attributes, **times)


def served(response_id: str = "resp-1", written: int = 20) -> Any:
    """What the engine tells of it: 0.3 s queued, 0.5 s prefill, 1 s decode."""
    attributes = {
        "gen_ai.request.id": response_id,
        "gen_ai.response.model": "m",
        "gen_ai.latency.time_in_queue": 0.3,
        "gen_ai.latency.time_in_model_prefill": 0.5,
        "gen_ai.latency.time_to_first_token": 0.8,
        "gen_ai.latency.time_in_model_decode": 1.0,
        "gen_ai.latency.e2e": 1.8,
        "gen_ai.usage.completion_tokens": written,
    }
    times = {"start_time_unix_nano": START_NS + SECOND_NS // 10, "end_time_unix_nano": START_NS + 19 * SECOND_NS // 10}
    return span("llm_request", kind=2, attributes=attributes, **times)


async def one_pass(later_ns: int = 0) -> Decomposed:
    return await sync_to_async(decompose_dirty)(time.time_ns() + later_ns, IDLE_NS)


async def swept(later_ns: int = LOOK_AGAIN_NS[0]) -> None:
    await sync_to_async(look_again)(time.time_ns() + later_ns)
    await one_pass(later_ns)


def assert_joined(rows: Any, client: Any) -> None:
    """One run, the client's, whose call has the engine's figures."""
    trace = client.trace_id.hex()
    assert rows(RUNS) == [{"trace": trace}]
    assert rows(CALLS) == [{"trace": trace, "queue_ns": 3 * SECOND_NS // 10, "prefill_ns": SECOND_NS // 2}]


async def test_the_engine_may_come_first(store: Store, project: Project, rows: Any) -> None:
    client, engine = asked(), served()
    await store.keep(project.pk, parts(engine), None)
    await one_pass()
    assert [row["trace"] for row in rows(RUNS)] == [engine.trace_id.hex()], "alone it is a run of one call"

    await store.keep(project.pk, parts(client), None)
    await one_pass()

    assert_joined(rows, client)


async def test_the_client_may_come_first(store: Store, project: Project, rows: Any) -> None:
    client, engine = asked(), served()
    for one in (client, engine):
        await store.keep(project.pk, parts(one), None)
        await one_pass()

    await swept()

    assert_joined(rows, client)


async def test_both_may_come_in_one_pass(store: Store, project: Project, rows: Any) -> None:
    client = asked()
    await store.keep(project.pk, parts(client, served()), None)

    await one_pass()

    assert_joined(rows, client)


@pytest.mark.parametrize("order", ["client first", "between", "client last", "one pass"])
async def test_choices_in_traces_of_their_own_all_join(store: Store, project: Project, rows: Any, order: str) -> None:
    client, one, other = asked(), served(written=20), served(written=30)
    came = {
        "client first": [[client], [one], [other]],
        "between": [[one], [client], [other]],
        "client last": [[one], [other], [client]],
        "one pass": [[one, client, other]],
    }[order]
    for spans in came:
        await store.keep(project.pk, parts(*spans), None)
        await one_pass()

    await swept()

    assert_joined(rows, client)
    assert rows("SELECT output_tokens FROM ingest_call") == [{"output_tokens": 50}]


async def test_an_engines_broken_chunk_leaves_the_clients_run(store: Store, project: Project, rows: Any) -> None:
    client, engine = asked(), served()
    await store.keep(project.pk, parts(engine), None)
    await one_pass()
    rows("UPDATE ingest_chunk SET body = 'broken' RETURNING 1")

    await store.keep(project.pk, parts(client), None)
    await one_pass()

    assert client.trace_id.hex() in [row["trace"] for row in rows(RUNS)]


async def test_passes_that_cross_are_found_by_a_later_look(store: Store, project: Project, rows: Any) -> None:
    client = asked()
    await store.keep(project.pk, parts(served()), None)
    await one_pass()
    await swept()  # nobody there yet
    rows("UPDATE ingest_engine_span SET response_id = 'elsewhere' RETURNING 1")  # so that the client's pass misses it
    await store.keep(project.pk, parts(client), None)
    await one_pass()
    rows("UPDATE ingest_engine_span SET response_id = 'resp-1' RETURNING 1")

    await swept(LOOK_AGAIN_NS[1] + LOOK_AGAIN_NS[0])

    assert_joined(rows, client)


async def test_a_joined_span_stays_so_when_its_trace_is_read_anew(store: Store, project: Project, rows: Any) -> None:
    client, engine = asked(), served()
    await store.keep(project.pk, parts(client, engine), None)
    await one_pass()
    engine.attributes.add(key="later").value.string_value = "news"

    await store.keep(project.pk, parts(engine), None)
    await one_pass()

    assert_joined(rows, client)


async def test_the_engine_runs_old_id_leads_to_the_client(store: Store, project: Project) -> None:
    client, engine = asked(), served()
    await store.keep(project.pk, parts(client, engine), None)
    await one_pass()

    old_id = f"{engine.trace_id.hex()}-{engine.span_id.hex()}"
    now_id = await sync_to_async(current_run_id)(Scope(project_id=project.pk), old_id)

    assert now_id == f"{client.trace_id.hex()}-{client.span_id.hex()}"


async def test_a_call_of_another_project_claims_nothing(store: Store, project: Project, rows: Any) -> None:
    other = await Project.objects.acreate(slug="other", name="Other")
    await store.keep(other.pk, parts(served()), None)
    await store.keep(project.pk, parts(asked()), None)
    await one_pass()
    await swept()

    assert len(rows(RUNS)) == 2


async def test_an_id_of_absurd_length_joins_and_breaks_nothing(store: Store, project: Project, rows: Any) -> None:
    await store.keep(project.pk, parts(served("x" * 5000), asked("x" * 5000)), None)

    await one_pass()

    assert len(rows(RUNS)) == 2
