"""A storm after quiet weeks: rules and messages were few when the database last counted them."""

from __future__ import annotations

import json
import time

import pytest
from django.db import connection

from dashboard.alerts import evaluating, sending
from dashboard.alerts.evaluating import LEASE_NS
from dashboard.alerts.models import AlertRule, Notification
from ingest.models import Project
from tests.integration.alerts.conftest import Make
from tests.integration.store.test_claim_plan import compared

pytestmark = pytest.mark.django_db
WAITING = 1_000
RULES = """
    INSERT INTO alerts_alertrule (project_id, name, body, enabled, origin, revision, created_unix_ns, evaluated_unix_ns,
        ran_unix_ns, due_unix_ns, claimed_until_unix_ns, blind_until_unix_ns, error)
    SELECT %s, n, '{}', true, 'api', 1, 0, 0, 0, n, 0, 0, '' FROM generate_series(1, %s) AS n
"""
MESSAGES = """
    INSERT INTO alerts_notification (id, project_id, channel_id, body, made_unix_ns, due_unix_ns, claimed_until_unix_ns,
        tries, error)
    SELECT gen_random_uuid(), project_id, id, '{}', 0, n, 0, 0, ''
    FROM alerts_channel, generate_series(1, %s) AS n
"""


def looked_at(claim: str, limit: int) -> int:
    """Rows that a claim reads for nothing."""
    now_ns = time.time_ns()
    told = {"now_ns": now_ns, "until_ns": now_ns + LEASE_NS, "never_ns": now_ns + 2 * LEASE_NS, "limit": limit}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # as workers have it
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + claim, told)
        [(plan,)] = cursor.fetchall()
    return compared((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def test_a_claim_of_rules_looks_at_its_own_rows_only(project: Project) -> None:
    with connection.cursor() as cursor:
        cursor.execute(RULES, [project.pk, WAITING])
        cursor.execute("DELETE FROM alerts_alertrule")
        cursor.execute("ANALYZE alerts_alertrule")
        cursor.execute(RULES, [project.pk, WAITING])
    assert looked_at(evaluating.CLAIM, 50) < WAITING
    assert len(evaluating.claim(time.time_ns(), WAITING)) == WAITING - 50
    assert AlertRule.objects.filter(claimed_until_unix_ns=0).count() == 0


def test_a_claim_of_messages_looks_at_its_own_rows_only(project: Project, channel: Make) -> None:
    channel(url="http://127.0.0.1:9/")
    with connection.cursor() as cursor:
        cursor.execute(MESSAGES, [WAITING])
        cursor.execute("DELETE FROM alerts_notification")
        cursor.execute("ANALYZE alerts_notification")
        cursor.execute(MESSAGES, [WAITING])
    assert looked_at(sending.CLAIM, sending.AT_ONCE) < WAITING
    assert Notification.objects.filter(tries=1).count() == sending.AT_ONCE
