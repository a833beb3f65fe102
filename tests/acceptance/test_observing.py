"""An instance observed from outside: what was sent is what /metrics says, also after a worker was killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import psutil
import psycopg
import redis
from prometheus_client.parser import text_string_to_metric_families

from ingest.live import CLOCK_KEY
from tests.instance import Instance
from tests.integration.otlp.messages import PROTOBUF, body, span
from tests.polling import until

TOLD_WITHIN_S = 30
Figures = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(instance: Instance) -> Figures:
    text = httpx.get(f"{instance.web}/metrics", timeout=30).raise_for_status().text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def await_told(instance: Instance) -> None:
    """Until what was counted so far, by tests before this one, stands in the database: each living process has
    written its row since. Rows of killed ones stay for a while as they were, and the row of folded counts for ever.
    """
    now_ns = time.time_ns()
    with psycopg.connect(instance.database_url, autocommit=True) as database:

        def silent() -> list[tuple[str, int]]:
            rows = database.execute("SELECT role, pid, seen_unix_ns FROM ingest_process WHERE NOT ended").fetchall()
            return [(role, pid) for role, pid, seen_ns in rows if psutil.pid_exists(pid) and seen_ns <= now_ns]

        until(lambda: not silent(), TOLD_WITHIN_S, "all living processes have told their counts")


def total(figures: Figures, name: str, **labels: str) -> float:
    return sum(value for (its, has), value in figures.items() if its == name and labels.items() <= dict(has).items())


def gone_back(before: Figures, after: Figures) -> list[object]:
    """Counters that are smaller than they were, or that have vanished."""
    ends = ("_total", "_bucket", "_count", "_sum")
    return [key for key, value in before.items() if key[0].endswith(ends) and after.get(key, 0) < value]


def chat() -> bytes:
    return body(span("chat", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}))


def test_what_was_sent_is_counted_and_stays_counted_when_a_worker_is_killed(instance: Instance) -> None:
    await_told(instance)
    before = scrape(instance)

    def grown(name: str, **labels: str) -> float:
        return total(scrape(instance), name, **labels) - total(before, name, **labels)

    with httpx.Client(timeout=30) as client:
        for address in (instance.otlp_http, instance.web):
            for _ in range(10):
                client.post(f"{address}/v1/traces", content=chat(), headers=PROTOBUF).raise_for_status()
            assert client.post(f"{address}/v1/traces", content=b"\xff\xff\xff", headers=PROTOBUF).status_code == 400
        client.post(f"{instance.otlp_http}/v1/traces", content=body(span(trace_id=b"x")), headers=PROTOBUF)
    until(lambda: grown("sixstage_decomposed_traces_total") >= 20, TOLD_WITHIN_S, "20 traces are decomposed")
    until(lambda: grown("sixstage_received_requests_total") >= 23, TOLD_WITHIN_S, "both ways in are counted")
    assert grown("sixstage_stored_items_total", signal="traces") == 20
    assert grown("sixstage_refused_requests_total", reason="bad_data") == 2
    assert grown("sixstage_refused_items_total", reason="bad_trace_id") == 1
    assert grown("sixstage_visible_lag_seconds_count") == grown("sixstage_written_rows_total", table="run") == 20
    until(lambda: grown("sixstage_run_wall_seconds_count") >= 20, TOLD_WITHIN_S, "settled runs are counted")

    seen = scrape(instance)
    worker = instance.process("worker")
    assert worker is not None
    for child in worker.children():
        child.kill()
    until(lambda: [c for c in worker.children() if c.status() != psutil.STATUS_ZOMBIE], 30, "a new worker is there")
    assert gone_back(seen, scrape(instance)) == []
    httpx.post(f"{instance.otlp_http}/v1/traces", content=chat(), headers=PROTOBUF).raise_for_status()
    until(lambda: grown("sixstage_decomposed_traces_total") >= 21, TOLD_WITHIN_S, "the new worker's count is added")
    assert gone_back(seen, scrape(instance)) == []


def test_the_clock_goes_on_after_its_broker_and_its_worker_were_killed(instance: Instance) -> None:
    with redis.Redis.from_url(instance.redis_url) as valkey:

        def answered(ask: Callable[[str], Any]) -> bool:
            try:
                return ask(CLOCK_KEY) is not None
            except redis.RedisError:
                return False

        def is_heard() -> bool:
            return answered(valkey.get)

        until(is_heard, TOLD_WITHIN_S, "workers hear the clock")
        for name in ("valkey", "worker"):
            instance.kill(name)
            until(lambda: answered(valkey.delete), TOLD_WITHIN_S, "the broker answers and has forgotten it")
            until(is_heard, TOLD_WITHIN_S, f"workers hear the clock after {name} was killed")


def test_processes_name_themselves(instance: Instance) -> None:
    def roles() -> set[str]:
        return {
            dict(labels)["process"]
            for name, labels in scrape(instance)
            if name == "sixstage_process_resident_memory_bytes"
        }

    until(lambda: roles() >= {"web", "receiver", "worker"}, TOLD_WITHIN_S, "every process has spoken")


def test_an_answer_over_grpc_names_its_request(instance: Instance) -> None:
    import grpc

    with grpc.insecure_channel(instance.otlp_grpc) as channel:
        export = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        _, call = export.with_call(chat(), metadata=[("x-request-id", "mine-7")], timeout=30)
        assert ("x-request-id", "mine-7") in [(key, value) for key, value in call.trailing_metadata()]
