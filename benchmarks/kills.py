"""Row 12: a few kills under load, as `make chaos` makes many."""

import contextlib
import importlib.util
import random
import sys
from typing import Any

from benchmarks.report import Result, Row

SIGNALS = ("kill -9 receiver", "kill -9 worker", "kill -9 postgres")


def measure_kills() -> Result:
    """Kill -9 of what receives, of what decomposes and of what stores, in any order; then count."""
    if importlib.util.find_spec("benchmarks.chaos") is None:
        return Result(rows=[], facts={"row 12": "run make chaos"}, faults=[], read_back=False)
    faults: Any = importlib.import_module("benchmarks.chaos.faults")
    rounds: Any = importlib.import_module("benchmarks.chaos.rounds")
    rng, outcome = random.Random(), rounds.Outcome()
    plan = [fault for fault in faults.kills() if fault.name in SIGNALS]
    rng.shuffle(plan)
    with contextlib.redirect_stdout(sys.stderr):
        rounds.run(plan, rng, outcome)
    what = f"acknowledged spans lost or doubled, {outcome.done.total()} kills under load"
    return Result(
        rows=[Row(12, what, outcome.lost + outcome.doubled, 0, 0, "spans")],
        facts={"row 12": f"{outcome.acknowledged:,} spans acknowledged; for 30 kills and more, run make chaos"},
        faults=outcome.faults,
    )
