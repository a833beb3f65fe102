"""`make bench`: measure, print each row beside its bar and aim, and say whether the runs were right."""

import argparse
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.ingest import Plan, measure
from benchmarks.kernel import measure_kernel
from benchmarks.kills import measure_kills
from benchmarks.numbers import measure_numbers
from benchmarks.report import Result, as_markdown, joined, save
from benchmarks.run_page import measure_run_page
from benchmarks.scraping import measure_scraping

RESULTS = Path(__file__).parent / "results"
PARTS: dict[str, Callable[[Plan], Result]] = {
    "kernel": lambda plan: measure_kernel(),
    "ingest": measure,
    "scraping": lambda plan: measure_scraping(),
    "run-page": lambda plan: measure_run_page(),
    "kills": lambda plan: measure_kills(),
    "numbers": lambda plan: measure_numbers(plan.stored),
}
ONLY_ALONE = ("numbers",)  # which take a quarter of an hour, and gigabytes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--spans", type=int, default=120_000, help="how many to send at full speed (default %(default)s)"
    )
    parser.add_argument("--million", action="store_true", help="send 1,000,000 spans, as the targets say")
    parser.add_argument("--rate", type=int, help="spans/s for row 3 (default: half of what row 2 came to)")
    parser.add_argument("--seconds", type=float, default=300, help="each part is given up after this time")
    parser.add_argument("--only", choices=PARTS, help="measure only this part (default: all but row 7)")
    parser.add_argument("--stored", type=int, help="how many spans' runs to store for row 7 (default: ten million)")
    parser.add_argument("--save", action="store_true", help=f"keep the result in {RESULTS.name}/ under today's date")
    asked = parser.parse_args()
    plan = Plan(
        spans=1_000_000 if asked.million else asked.spans, rate=asked.rate, seconds=asked.seconds, stored=asked.stored
    )
    cores = os.cpu_count() or 1
    if os.getloadavg()[0] > 0.25 * cores:
        print(f"The load average is {os.getloadavg()[0]:.2f} on {cores} cores: the bars bind on an idle machine only.")
    parts = [
        measure_part(plan)
        for name, measure_part in PARTS.items()
        if name == (asked.only or name) and (asked.only or name not in ONLY_ALONE)
    ]
    result = joined(parts)
    print(as_markdown(result))
    if asked.save:
        print(f"kept in {save(result, RESULTS, datetime.now(UTC), cores)}")
    return 1 if result.faults else 0


if __name__ == "__main__":
    sys.exit(main())
