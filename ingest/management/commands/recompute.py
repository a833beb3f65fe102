from __future__ import annotations

import datetime as dt
import time
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.models import Project
from ingest.recomputing import SECOND_NS, Selection, mark, select_traces


class Command(BaseCommand):
    help = (
        "Have stored traces decomposed again; runs change in place and keep their ids. The work is done by the "
        "workers, after what is fresh."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--from", dest="start", type=_moment, help="runs that ended at this time or later (ISO 8601)"
        )
        parser.add_argument("--to", dest="end", type=_moment, help="runs that ended before (ISO 8601)")
        parser.add_argument("--service", help="runs of this service")
        parser.add_argument("--project", help="one project's runs, by its slug; else every project's")
        parser.add_argument("--trace", type=_trace_id, help="one trace, by its id")
        parser.add_argument("--outdated", action="store_true", help="runs that an older version has computed")
        parser.add_argument("--new-basis", action="store_true", help="measure anew what estimates rest on")
        parser.add_argument("--rate", type=_rate, default=100, help="traces that fall due in a second (default 100)")
        parser.add_argument("--dry-run", action="store_true", help="only say how many traces it would be")

    def handle(self, *_args: Any, **options: Any) -> None:
        selection = Selection(
            from_ns=options["start"], to_ns=options["end"], service=options["service"],
            outdated=options["outdated"], trace_id=options["trace"],
        )  # fmt: skip
        projects = Project.objects.filter(**{"slug": options["project"]} if options["project"] else {})
        start_ns, seen, marked = time.time_ns(), 0, 0
        for project_id in projects.order_by("pk").values_list("pk", flat=True):
            for trace_ids in select_traces(selection, project_id):
                due_ns = start_ns + seen * SECOND_NS // options["rate"]
                seen += len(trace_ids)
                if not options["dry_run"]:
                    marked += mark(project_id, trace_ids, due_ns, options["new_basis"])
        self.stdout.write(f"{seen} traces would be computed again" if options["dry_run"] else _said(marked, options))


def _said(marked: int, options: dict[str, Any]) -> str:
    return f"{marked} traces will be computed again, the last in about {marked // options['rate']} s"


def _moment(told: str) -> int:
    """An ISO 8601 time as Unix nanoseconds; UTC where it names no zone."""
    try:
        moment = dt.datetime.fromisoformat(told)
    except ValueError as error:
        raise ArgumentTypeError(f"{told!r} is no ISO 8601 time") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) * 1000


def _trace_id(told: str) -> bytes:
    try:
        trace_id = bytes.fromhex(told)
    except ValueError:
        trace_id = b""
    if len(trace_id) != 16:
        raise ArgumentTypeError(f"{told!r} is no trace id: 32 hex digits")
    return trace_id


def _rate(told: str) -> int:
    if not told.isdecimal() or not int(told):
        raise ArgumentTypeError(f"{told!r} is no number from 1 up")
    return int(told)
