"""What was acknowledged is there, once and read right, whatever dies meanwhile."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.acceptance.load import Load, load
from tests.instance import Instance, running_instance
from tests.polling import until
from tests.readback import is_idle, stored_spans, wrong_runs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
RATE, STEP = 2000, 2048  # spans/s; how many are acknowledged between two blows
DECOMPOSED_WITHIN_S = 60
LEASE_S = 30  # what a worker had claimed when it died is free again after this time
KILLED = ("worker", "web", "receiver", "postgres")


@pytest.fixture(scope="module")
def own_instance() -> Iterator[Instance]:
    """One that may be hurt, and that writes to disk as `make up` does."""
    with running_instance(fsync=True, SIXSTAGE_WORKERS="1") as running:
        yield running


def test_kill_9_of_every_process_loses_nothing_and_doubles_nothing(own_instance: Instance, tmp_path: Path) -> None:
    with load(own_instance, tmp_path, spans=13 * 1536, rate=RATE) as sending:
        for number, name in enumerate(KILLED, start=1):
            until(lambda n=number: sending.has_acknowledged(n * STEP), 60, f"{number * STEP} spans are acknowledged")
            _kill(own_instance, name)
        told = sending.result(within_s=130)

    assert (told["acked"], told["rejected"]) == (13 * 1536, 0)
    assert told["errors"]  # or nothing was hurt
    _assert_all_there(own_instance, sending, LEASE_S + DECOMPOSED_WITHIN_S)


def test_an_emptied_broker_loses_no_work(own_instance: Instance, tmp_path: Path) -> None:
    with load(own_instance, tmp_path, spans=6 * 1536, rate=RATE) as sending, _broker(own_instance) as broker:
        for number in (1, 2, 3):
            until(lambda n=number: sending.has_acknowledged(n * STEP), 60, f"{number * STEP} spans are acknowledged")
            broker.flushall()
        told = sending.result(within_s=130)

    assert (told["acked"], told["errors"]) == (6 * 1536, {})
    _assert_all_there(own_instance, sending, DECOMPOSED_WITHIN_S)


def _kill(instance: Instance, name: str) -> None:
    """The process itself and what it has started, as the kernel does when memory ends."""
    process = until(lambda: instance.process(name), 30, f"{name} runs")
    for victim in [process, *process.children(recursive=True)]:
        if victim.is_running():
            victim.kill()


def _broker(instance: Instance) -> redis.Redis:
    return redis.Redis.from_url(instance.redis_url)


def _assert_all_there(instance: Instance, sent: Load, within_s: float) -> None:
    truths = sent.truths()
    instance.becomes_ready()
    with psycopg.connect(instance.database_url, autocommit=True) as database:
        until(lambda: is_idle(database), within_s, "every trace is decomposed")
        traces = list(map(bytes.fromhex, truths))
        assert stored_spans(database, traces) == Counter(sent.acknowledged())
    assert wrong_runs(instance.api, truths) == []
