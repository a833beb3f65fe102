"""A burst after a quiet hour: the queue was empty when the database last counted it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.db import connection

from ingest.leases import CLAIM, DIED, LEASE_NS, MAX_TRIES, NEVER_NS, claim
from ingest.models import Project
from ingest.stored import direct_cursor

pytestmark = pytest.mark.django_db
CLAIMED, WAITING = 50, 1_000
MARK = """
    INSERT INTO ingest_dirty_trace
        (trace_id, project_id, day, generation, received_unix_ns, due_unix_ns, claimed_until_unix_ns, tries, error)
    SELECT decode(md5(n::text), 'hex'), %s, current_date, 1, %s, %s + n, 0, 0, '' FROM generate_series(1, %s) AS n
"""


def compared(plan: dict[str, Any]) -> int:
    """Rows that the plan's steps looked at and threw away."""
    own = sum(value for name, value in plan.items() if name.startswith("Rows Removed")) * plan.get("Actual Loops", 1)
    return round(own) + sum(map(compared, plan.get("Plans", ())))


def test_a_claim_looks_at_its_own_rows_only(project: Project) -> None:
    now_ns = time.time_ns()
    with connection.cursor() as cursor:
        cursor.execute(MARK, [project.pk, now_ns, now_ns - 10**9, CLAIMED])
        cursor.execute("DELETE FROM ingest_dirty_trace")
        cursor.execute("ANALYZE ingest_dirty_trace")
        cursor.execute(MARK, [project.pk, now_ns, now_ns - 10**9, WAITING])
        cursor.execute("SET LOCAL enable_seqscan = off")  # as workers have it
    parameters = {
        "now_ns": now_ns, "until_ns": now_ns + LEASE_NS, "limit": CLAIMED, "max_tries": MAX_TRIES, "died": DIED,
        "never_ns": now_ns + NEVER_NS,
    }  # fmt: skip
    with direct_cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + CLAIM, parameters)
        [(told,)] = cursor.fetchall()
    plan = json.loads(told) if isinstance(told, str) else told
    assert compared(plan[0]["Plan"]) < WAITING
    assert len(claim(now_ns, WAITING)) == WAITING - CLAIMED
