"""`make chaos`: kill processes under load, and see that nothing acknowledged is lost, doubled or read wrong."""

import argparse
import os
import random
import statistics
import sys
import time

from benchmarks.chaos.faults import Fault, kills, troubles
from benchmarks.chaos.full_disk import run_on_a_small_disk
from benchmarks.chaos.rounds import Outcome, run

A_ROUND_OF_TROUBLES = 30  # kills


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=30, help="how many processes to kill (default %(default)s)")
    parser.add_argument("--seed", type=int, help="for the order and the instants of another run")
    parser.add_argument("--only", help="nothing but the faults with these words in their name")
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 16) if asked.seed is None else asked.seed
    rng, outcome, began_s = random.Random(seed), Outcome(), time.monotonic()
    print(f"seed {seed}, load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    run(plan(asked.kills, rng, asked.only or ""), rng, outcome)
    skipped = run_on_a_small_disk(rng, outcome) if not asked.only or asked.only in "disk full" else "not asked for"
    if skipped:
        print(f"disk full: skipped, {skipped}")
    print(as_table(outcome, time.monotonic() - began_s))
    return 1 if outcome.faults else 0


def plan(many: int, rng: random.Random, words: str) -> list[Fault]:
    """As many kills, each kind about as often, and each trouble once for every thirty of them, in a random order."""
    every = [fault for fault in kills() if words in fault.name]
    chosen: list[Fault] = []
    while every and len(chosen) < many:
        chosen += rng.sample(every, min(len(every), many - len(chosen)))
    around = [fault for fault in troubles() if words in fault.name]
    chosen += around * max(1, -(-many // A_ROUND_OF_TROUBLES))
    rng.shuffle(chosen)
    return chosen


def as_table(outcome: Outcome, seconds: float) -> str:
    lines = ["", "| fault | times | ready again, median |", "| --- | --- | --- |"]
    for name, times in sorted(outcome.done.items()):
        took_s = outcome.recovery_s.get(name)
        lines.append(f"| {name} | {times} | {f'{statistics.median(took_s):.1f} s' if took_s else ''} |")
    lines += [
        "",
        f"{outcome.done.total()} faults in {seconds / 60:.1f} minutes. Of {outcome.acknowledged:,} acknowledged spans "
        f"{outcome.lost:,} were lost and {outcome.doubled:,} stored twice; {outcome.runs:,} runs were read back.",
        f"{len(outcome.faults)} FAULTS:" if outcome.faults else "Every run is right, no trace is left or set aside.",
        *(f"- {fault}" for fault in outcome.faults[:20]),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
