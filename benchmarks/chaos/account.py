"""What was acknowledged against what is stored and shown."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from benchmarks.chaos.faults import LEASE_S
from tests.acceptance.load import Load
from tests.instance import Instance
from tests.polling import until
from tests.readback import is_idle, stored_spans, wrong_runs

DECOMPOSED_WITHIN_S = LEASE_S + 120
LEFT = """
    SELECT count(*), count(*) FILTER (WHERE tries >= 5), max(tries), max(error),
           max(due_unix_ns) / 1e9 - extract(epoch FROM now()),
           max(claimed_until_unix_ns) / 1e9 - extract(epoch FROM now())
    FROM ingest_dirty_trace
"""


@dataclass
class Account:
    """Of all rounds on one instance."""

    acknowledged: set[str] = field(default_factory=set)
    truths: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    lost: int = 0
    doubled: int = 0

    def add(self, load: Load, told: Mapping[str, Any]) -> None:
        """A load that has ended. It tries until it is answered, so that what was refused for good is a fault."""
        self.acknowledged |= set(load.acknowledged())
        self.truths |= load.truths()
        if told["rejected"] or told["acked"] != 12 * len(load.truths()):
            self.faults.append(f"{told['acked']} spans acknowledged, {told['rejected']} rejected: {told['errors']}")

    def check(self, instance: Instance) -> None:
        """Wait until everything is decomposed, then compare."""
        instance.becomes_ready()
        with psycopg.connect(instance.database_url, autocommit=True) as database:
            try:
                until(lambda: is_idle(database), DECOMPOSED_WITHIN_S, "every trace is decomposed")
            except AssertionError:
                names = ("left", "set aside", "most tries", "error", "due in s", "claimed for s")
                left = dict(zip(names, database.execute(LEFT).fetchone() or (), strict=True))
                self.faults.append(f"not all traces were decomposed within {DECOMPOSED_WITHIN_S} s: {left}")
            stored = stored_spans(database, [bytes.fromhex(trace_id) for trace_id in self.truths])
        self._compare(stored)
        self.faults += wrong_runs(instance.api, self.truths)

    def _compare(self, stored: Counter[str]) -> None:
        lost = self.acknowledged - stored.keys()
        doubled = [span_id for span_id, times in stored.items() if times > 1]
        self.lost, self.doubled = len(lost), len(doubled)
        self.faults += [f"{len(lost)} acknowledged spans are lost, such as {min(lost)}"] if lost else []
        self.faults += [f"{len(doubled)} spans are stored twice, such as {min(doubled)}"] if doubled else []
