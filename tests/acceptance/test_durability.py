"""What was acknowledged is there, once and read right, whatever dies meanwhile."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from benchmarks.chaos.faults import POINTS
from benchmarks.chaos.victim import Victim, victim
from tests.acceptance.load import Load, load
from tests.instance import Instance
from tests.polling import until
from tests.readback import is_idle, stored_spans, wrong_runs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
RATE, STEP = 2000, 2048  # spans/s; how many are acknowledged between two blows
DECOMPOSED_WITHIN_S = 60
LEASE_S = 30  # what a worker had claimed when it died is free again after this time
KILLED = ("worker", "web", "receiver", "postgres")


@pytest.fixture(scope="module")
def hurt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    """An instance that may be hurt, and that writes to disk as `make up` does."""
    with victim(tmp_path_factory.mktemp("chaos"), random.Random(1), SIXSTAGE_WORKERS="1") as running:
        yield running


@pytest.fixture
def own_instance(hurt: Victim) -> Instance:
    return hurt.instance


def test_kill_9_of_every_process_and_at_every_named_point_loses_nothing_and_doubles_nothing(
    hurt: Victim, own_instance: Instance, tmp_path: Path
) -> None:
    with load(own_instance, tmp_path, spans=24 * 1536, rate=RATE) as sending:
        for number, name in enumerate(KILLED, start=1):
            until(lambda n=number: sending.has_acknowledged(n * STEP), 60, f"{number * STEP} spans are acknowledged")
            _kill(own_instance, name)
        for point in POINTS:
            hurt.dies_at(point, within_s=30)
        told = sending.result(within_s=130)

    assert (told["acked"], told["rejected"]) == (24 * 1536, 0)
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
    for each in [process, *process.children(recursive=True)]:
        if each.is_running():
            each.kill()


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
    assert "rollups are what the rows add up to" in instance.manage("verify_rollups")
