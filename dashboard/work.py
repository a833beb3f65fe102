"""Starts Celery's worker or its clock without Celery's command line, which would keep 10 MB in each of their processes:

    python -m dashboard.work worker --concurrency 2 [--clock FILE]
    python -m dashboard.work beat --schedule FILE

`celery -A dashboard.celery worker` and `celery -A dashboard.scheduler beat` do the same. With --clock the worker keeps
time as well, and no beat is to run.
"""

from __future__ import annotations

import argparse
import os
import sys

LOG_LEVEL = "WARNING"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dashboard.work", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    worker = what.add_parser("worker")
    worker.add_argument("--concurrency", type=int, required=True, help="processes that decompose")
    worker.add_argument("--clock", help="keep time too, and in this file what ran when")
    what.add_parser("beat").add_argument("--schedule", required=True, help="the file that keeps what ran when")
    options = parser.parse_args(arguments)
    if options.what == "beat":
        return _keep_time(options.schedule)
    return _work(options.concurrency, options.clock)


def _work(concurrency: int, clock: str | None) -> int:
    # The supervisor has run the checks; here they would load every page.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
    from dashboard.celery import app
    from dashboard.patience import end_for_good

    if clock:
        from dashboard.clock import keep_time

        keep_time(app, clock)
    worker = app.Worker(
        concurrency=concurrency, loglevel=LOG_LEVEL, quiet=True, without_gossip=True, without_mingle=True
    )
    end_for_good(worker)
    worker.start()
    return int(worker.exitcode or 0)


def _keep_time(schedule: str) -> int:
    from dashboard.scheduler import app

    app.Beat(schedule=schedule, loglevel=LOG_LEVEL, quiet=True).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
