"""What is done to an instance: kills at random instants and at named points, and troubles around the processes."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import psycopg
import redis

from benchmarks.chaos.victim import Victim

KILL, TERM, INT, QUIT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT
PASSED_WITHIN_S = 30
HOUR_NS = 3600 * 10**9
LEASE_S = 30
PROGRAMS = ("web", "receiver", "worker", "postgres", "valkey")
POINTS = {
    "receiver-before-commit": "receiver: chunks inserted, before commit",
    "receiver-after-commit": "receiver: committed, before the reply",
    "worker-after-claim": "worker: claimed, before reading",
    "worker-after-decompose": "worker: decomposed, before writing",
    "worker-after-copy": "worker: rows copied, before commit",
    "worker-before-announce": "worker: committed, before announcing",
}


@dataclass(frozen=True)
class Fault:
    name: str
    do: Callable[[Victim], None]


def _signal(victim: Victim, name: str, signum: signal.Signals) -> None:
    os.kill(victim.process(name).pid, signum)


def _signal_child(victim: Victim, name: str, words: str, signum: signal.Signals) -> None:
    os.kill(victim.child(name, words).pid, signum)


def _supervisor(victim: Victim, signum: signal.Signals, all_of_them: bool = False) -> None:
    victim.ends(signum, all_of_them=all_of_them)


def _point(victim: Victim, point: str) -> None:
    victim.dies_at(point, PASSED_WITHIN_S)


def kills() -> list[Fault]:
    """Every process by SIGKILL and by SIGTERM, and each named point. PostgreSQL's main process takes SIGTERM for "when
    all sessions have ended", so it gets SIGINT, which ends them, as its supervisor does."""
    found = [Fault(f"kill -9 {name}", partial(_signal, name=name, signum=KILL)) for name in PROGRAMS]
    found += [
        Fault(f"{signum.name} {name}", partial(_signal, name=name, signum=signum))
        for name in PROGRAMS
        if (signum := INT if name == "postgres" else TERM)
    ]
    for word, signum in (("kill -9", KILL), ("SIGTERM", TERM)):
        found += [
            Fault(f"{word} worker's child", partial(_signal_child, name="worker", words="", signum=signum)),
            Fault(f"{word} postgres session", partial(_signal_child, name="postgres", words="[local]", signum=signum)),
            Fault(f"{word} supervisor, start again", partial(_supervisor, signum=signum)),
        ]
    found += [Fault(f"kill -9 at {words}", partial(_point, point=point)) for point, words in POINTS.items()]
    return found


def troubles() -> list[Fault]:
    """What happens around the processes."""
    found = [
        Fault("SIGTERM all at once, start again", partial(_supervisor, signum=TERM, all_of_them=True)),
        Fault("database restart, immediate", partial(_signal, name="postgres", signum=QUIT)),
        Fault("broker emptied", _flush),
        Fault("broker stopped for 10 s", partial(_freeze, name="valkey", seconds=10)),
        Fault("worker stopped past its lease", _freeze_a_worker),
        Fault("tables locked for 6 s", _lock_tables),
    ]
    for hours in (2, -2):
        found += [
            Fault(f"clock {hours:+} h in one worker", partial(_clock_in_a_worker, shift_ns=hours * HOUR_NS)),
            Fault(f"clock {hours:+} h in all, and back", partial(_clock, shift_ns=hours * HOUR_NS)),
        ]
    return found


def _flush(victim: Victim) -> None:
    with redis.Redis.from_url(victim.instance.redis_url) as broker:
        broker.flushall()


def _freeze(victim: Victim, name: str, seconds: float) -> None:
    process = victim.process(name)
    process.suspend()
    try:
        time.sleep(seconds)
    finally:
        process.resume()


def _freeze_a_worker(victim: Victim) -> None:
    """At the worst instant: it has decomposed what others will have written when it wakes up."""
    child = victim.child("worker")
    child.suspend()
    time.sleep(LEASE_S + 3)
    child.resume()


def _lock_tables(victim: Victim) -> None:
    with psycopg.connect(victim.instance.database_url) as database:
        database.execute("LOCK TABLE ingest_trace, ingest_dirty_trace IN EXCLUSIVE MODE")
        time.sleep(6)


def _clock_in_a_worker(victim: Victim, shift_ns: int) -> None:
    with victim.clock_wrong_by(shift_ns, victim.child("worker")):
        time.sleep(8)


def _clock(victim: Victim, shift_ns: int) -> None:
    """When it is set right, work is waiting that bears the wrong time."""
    children = victim.process("worker").children()
    with victim.clock_wrong_by(shift_ns):
        time.sleep(5)
        for child in children:
            child.suspend()
        time.sleep(3)
    for child in children:
        child.resume()
