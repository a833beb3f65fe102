"""When which version of a service went live: as somebody told it, or as its first runs tell.

Spans carry ``service.version``, so a version shows itself. It counts as deployed when its first run begins, if the
service was there before without it: a service's own first appearance deploys nothing that it could be compared with.
A version that nobody has seen for five weeks and that comes back counts anew, so that no older rollup is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ingest.models import ToldDeploy
from ingest.read.runs import first_day
from ingest.rollups.kept import read_keys
from ingest.rollups.steps import HOUR_NS, UTC_DAY_NS, Step
from ingest.scope import Scope
from ingest.snapshot import snapshot

LOOK_BACK_NS = 35 * UTC_DAY_NS
LONGEST_DAY_NS = 26 * HOUR_NS
SAME_NS = HOUR_NS  # a deploy that is told is the one that spans tell of, if they lie this close
TOLD, SEEN = "told", "seen"
FIRST_DAYS = """
    SELECT key_id, min(start_unix_ns) FROM ingest_rollup WHERE project_id = %s AND step = %s AND kind = 0
      AND start_unix_ns > %s AND start_unix_ns < %s AND key_id = ANY(%s::int[]) GROUP BY key_id
"""
# Of several versions at once: to plan a question over all partitions takes longer than to answer it.
FIRST_HOURS = """
    SELECT wanted.place, min(hour.start_unix_ns)
    FROM unnest(%s::int[], %s::int[], %s::bigint[]) AS wanted (place, key_id, day_ns) CROSS JOIN LATERAL (
        SELECT start_unix_ns FROM ingest_rollup
        WHERE project_id = %s AND step = %s AND kind = 0 AND key_id = wanted.key_id
          AND start_unix_ns >= wanted.day_ns AND start_unix_ns < wanted.day_ns + %s OFFSET 0
    ) AS hour GROUP BY wanted.place
"""
FIRST_RUNS = """
    SELECT wanted.place, run.start_unix_ns
    FROM unnest(%s::int[], %s::text[], %s::text[], %s::bigint[]) AS wanted (place, service, version, hour_ns)
    CROSS JOIN LATERAL (
        SELECT min(start_unix_ns) AS start_unix_ns FROM ingest_run
        WHERE project_id = %s AND service = wanted.service AND version = wanted.version AND day >= %s
          AND end_unix_ns >= wanted.hour_ns AND end_unix_ns < wanted.hour_ns + %s
    ) AS run
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """``source`` is "told" by somebody, or "seen" by its first run."""

    service: str
    version: str
    at_unix_ns: int
    source: str


def read_deploys(scope: Scope, from_unix_ns: int, to_unix_ns: int) -> list[Deploy]:
    """Those within a range, in order of time. One that was told is not listed a second time for its first run."""
    told = [
        Deploy(service=row.service, version=row.version, at_unix_ns=row.at_unix_ns, source=TOLD)
        for row in ToldDeploy.objects.filter(
            project_id=scope.project_id, at_unix_ns__gte=from_unix_ns - SAME_NS, at_unix_ns__lt=to_unix_ns + SAME_NS
        )
    ]
    with snapshot() as cursor:
        seen = list(_seen(cursor, scope, from_unix_ns, to_unix_ns))
    found = [*told, *(one for one in seen if not any(map(one_of(one), told)))]
    within = (one for one in found if from_unix_ns <= one.at_unix_ns < to_unix_ns)
    return sorted(within, key=lambda one: (one.at_unix_ns, one.service, one.version))


def tell_deploy(scope: Scope, service: str, version: str, at_unix_ns: int) -> Deploy:
    ToldDeploy.objects.get_or_create(
        project_id=scope.project_id, service=service, version=version, at_unix_ns=at_unix_ns
    )
    return Deploy(service=service, version=version, at_unix_ns=at_unix_ns, source=TOLD)


def one_of(seen: Deploy) -> Any:
    """Whether a deploy that was told is the one that was seen."""
    return lambda told: (
        (told.service, told.version) == (seen.service, seen.version)
        and abs(told.at_unix_ns - seen.at_unix_ns) <= SAME_NS
    )


def _seen(cursor: Any, scope: Scope, from_ns: int, to_ns: int) -> Iterable[Deploy]:
    keys = {
        key_id: (key.service, key.version)
        for key_id, key in read_keys(cursor, scope.project_id).items()
        if key.service is not None and key.own is None
    }
    oldest_ns = from_ns - LOOK_BACK_NS
    cursor.execute(FIRST_DAYS, [scope.project_id, int(Step.DAY), oldest_ns, to_ns, list(keys)])
    days: dict[tuple[str, str | None], int] = {}
    ids: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    for key_id, day_ns in cursor.fetchall():
        days[keys[key_id]] = min(day_ns, days.get(keys[key_id], day_ns))
        ids[keys[key_id]].append(key_id)
    firsts, asked = dict(days), []
    for named, day_ns in days.items():
        # Only of services with several versions, of which this came within the range or at its edge, more is asked.
        several = any(other != named and other[0] == named[0] for other in days)
        if several and (day_ns + LONGEST_DAY_NS > from_ns or named[1] is None):
            asked.append(named)
    firsts.update(_first_runs(cursor, scope, {named: (days[named], ids[named]) for named in asked}))
    for (service, version), at_ns in firsts.items():
        before = any(name == service and other != version and ns < at_ns for (name, other), ns in firsts.items())
        if version is not None and before:
            yield Deploy(service=service, version=version, at_unix_ns=at_ns, source=SEEN)


def _first_runs(
    cursor: Any, scope: Scope, asked: dict[tuple[str, str | None], tuple[int, list[int]]]
) -> dict[tuple[str, str | None], int]:
    """By service and version, given with the first day and its keys: when the first of its runs began that ended in the
    first hour that has any; as exact as what is still kept."""
    named = list(asked)
    cells = [(at, key_id, asked[one][0]) for at, one in enumerate(named) for key_id in asked[one][1]]
    if not cells:
        return {}
    cursor.execute(
        FIRST_HOURS, [*map(list, zip(*cells, strict=True)), scope.project_id, int(Step.HOUR), LONGEST_DAY_NS]
    )
    hours = {named[at]: int(hour_ns) for at, hour_ns in cursor.fetchall()}
    told = [(at, *one, hours[one]) for at, one in enumerate(named) if one[1] is not None and one in hours]
    if told:
        first = first_day(min(hours.values()))
        cursor.execute(FIRST_RUNS, [*map(list, zip(*told, strict=True)), scope.project_id, first, HOUR_NS])
        hours.update((named[at], int(first_ns)) for at, first_ns in cursor.fetchall() if first_ns is not None)
    return hours
