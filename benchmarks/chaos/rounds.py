"""Rounds: a load, faults while it runs, and then the account."""

import random
import time
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import psycopg
import redis

from benchmarks.chaos.account import Account
from benchmarks.chaos.faults import Fault
from benchmarks.chaos.victim import Missed, Victim, victim
from tests.acceptance.load import SPANS_A_UNIT, load
from tests.polling import until

ROUND_SPANS, RATE = 24 * SPANS_A_UNIT, 1200  # a round lasts half a minute, and longer by what it is hurt
STARTS_WITHIN_S, DELIVERED_WITHIN_S = 60, 300
AN_INSTANCE = 80  # faults; then a new one, since reading everything back takes longer and longer
MISSED_MOST = 3
NO_WAIT = 0.25  # how often the next fault comes before the instance has recovered from this one


@dataclass
class Outcome:
    """Of all instances."""

    done: Counter[str] = field(default_factory=Counter)
    recovery_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    acknowledged: int = 0
    runs: int = 0
    lost: int = 0
    doubled: int = 0
    faults: list[str] = field(default_factory=list)

    def take(self, account: Account) -> None:
        self.acknowledged += len(account.acknowledged)
        self.runs += len(account.truths)
        self.lost += account.lost
        self.doubled += account.doubled
        self.faults += dict.fromkeys(account.faults)


def run(plan: Sequence[Fault], rng: random.Random, outcome: Outcome) -> None:
    """Everything of the plan, on one instance after another."""
    for start in range(0, len(plan), AN_INSTANCE):
        with TemporaryDirectory(prefix="sixstage-chaos-") as folder, victim(Path(folder), rng) as hurt:
            hurt_it(hurt, Path(folder), deque(plan[start : start + AN_INSTANCE]), outcome)


def hurt_it(hurt: Victim, folder: Path, waiting: deque[Fault], outcome: Outcome) -> None:
    """Round after round until nothing waits. What a round does not get done while its load lasts, the next one does."""
    account, missed = Account(), Counter[str]()
    try:
        while waiting:
            with TemporaryDirectory(dir=folder) as place:
                _round(hurt, Path(place), account, waiting, missed, outcome)
    except AssertionError as error:
        account.faults.append(str(error))
    outcome.take(account)
    if account.faults:
        print(hurt.instance.last_words())


def _round(
    hurt: Victim, place: Path, account: Account, waiting: deque[Fault], missed: Counter[str], outcome: Outcome
) -> None:
    seed = hurt.rng.randrange(1 << 30)  # so that no two rounds have the same ids
    with load(hurt.instance, place, ROUND_SPANS, RATE, DELIVERED_WITHIN_S, seed) as sending:
        until(lambda: sending.has_acknowledged(1), STARTS_WITHIN_S, "the load has begun")
        while waiting and sending.process.poll() is None:
            _one(hurt, waiting, missed, outcome)
        account.add(sending, sending.result(DELIVERED_WITHIN_S + 60))
    began_s, before = time.monotonic(), len(account.faults)
    account.check(hurt.instance)
    told = "all right" if len(account.faults) == before else f"{len(account.faults) - before} FAULTS"
    took_s = time.monotonic() - began_s
    print(f"      {len(account.acknowledged):,} spans acknowledged, {told} (after {took_s:.0f} s)", flush=True)
    for fault in account.faults[before : before + 5]:
        print(f"      {fault}", flush=True)


def _one(hurt: Victim, waiting: deque[Fault], missed: Counter[str], outcome: Outcome) -> None:
    fault = waiting.popleft()
    time.sleep(hurt.rng.uniform(0.1, 1.5))  # the instant shall be any
    try:
        fault.do(hurt)
    except (Missed, psutil.NoSuchProcess, ProcessLookupError, psycopg.OperationalError, redis.RedisError) as why:
        # What was to be hurt is still down from the fault before.
        missed[fault.name] += 1
        if missed[fault.name] == MISSED_MOST:
            raise AssertionError(f"{fault.name}: {why}, {MISSED_MOST} times") from None
        waiting.append(fault)
        hurt.instance.becomes_ready()
        return
    outcome.done[fault.name] += 1
    began_s, told = time.monotonic(), "not waited for"
    if hurt.rng.random() > NO_WAIT:
        hurt.instance.becomes_ready()
        outcome.recovery_s[fault.name].append(time.monotonic() - began_s)
        told = f"ready again after {time.monotonic() - began_s:.1f} s"
    print(f"{outcome.done.total():4}  {fault.name}: {told}", flush=True)
