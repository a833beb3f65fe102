"""Starts Celery's worker or its clock without Celery's command line, which would keep 10 MB in each of their processes:

    python -m dashboard.work worker --concurrency 2
    python -m dashboard.work beat --schedule FILE

`celery -A dashboard.celery worker` and `celery -A dashboard.scheduler beat` do the same.
"""

from __future__ import annotations

import argparse
import os
import sys

LOG_LEVEL = "WARNING"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dashboard.work", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("worker").add_argument("--concurrency", type=int, required=True, help="processes that decompose")
    what.add_parser("beat").add_argument("--schedule", required=True, help="the file that keeps what ran when")
    options = parser.parse_args(arguments)
    return _work(options.concurrency) if options.what == "worker" else _keep_time(options.schedule)


def _work(concurrency: int) -> int:
    # The supervisor has run the checks; here they would load every page.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "1")
    from dashboard.celery import app

    worker = app.Worker(
        concurrency=concurrency, loglevel=LOG_LEVEL, quiet=True, without_gossip=True, without_mingle=True
    )
    worker.start()
    return int(worker.exitcode or 0)


def _keep_time(schedule: str) -> int:
    from dashboard.scheduler import app

    app.Beat(schedule=schedule, loglevel=LOG_LEVEL, quiet=True).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
