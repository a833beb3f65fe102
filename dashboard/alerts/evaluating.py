"""Rules that are due, each by one worker only: claimed by lease, evaluated at every instant since the last, stored.

A worker that dies gives its rules back by doing nothing: what it had not stored is evaluated again by the next.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import connection

from dashboard.alerts import readings
from dashboard.alerts.core.instants import AHEAD_NS, DELAY_NS, due_instants, next_due_ns, was_away
from dashboard.alerts.core.labels import fingerprint, labels_of
from dashboard.alerts.core.rule import SECOND_NS, Absence, Rule, Slo
from dashboard.alerts.core.standing import End, Fired, Resolved, Standing, State, move, timing_of
from dashboard.alerts.core.verdict import Facts, Outcome, Verdict, failed, judge
from dashboard.alerts.core.written import RuleRefused
from dashboard.alerts.models import Alert, AlertRule
from dashboard.alerts.models.rule import slos_of
from dashboard.alerts.readings import Incomplete, Key
from dashboard.alerts.storing import Judged, store
from ingest.read.engines import BadSeries
from ingest.read.runs import BadFilter
from ingest.rollups.folding import zone_of
from ingest.scope import Scope
from ingest.trouble import is_the_databases

log = logging.getLogger(__name__)

LEASE_NS = 120 * SECOND_NS
BEHIND_MOST_NS = 900 * SECOND_NS  # so long is waited for workers that are behind
FORGOTTEN_NS = 86_400 * SECOND_NS
GIVEN_UP_NS = 7 * FORGOTTEN_NS

# Locked rows are found again by their place: see ingest/leases.py.
CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT ctid AS place FROM alerts_alertrule
        WHERE enabled AND due_unix_ns <= %(now_ns)s
          AND NOT claimed_until_unix_ns BETWEEN %(now_ns)s AND %(never_ns)s
        ORDER BY due_unix_ns, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE alerts_alertrule AS rule SET claimed_until_unix_ns = %(until_ns)s
    WHERE rule.ctid = ANY (ARRAY(SELECT place FROM due)) RETURNING rule.id
"""
# Written while the clock was ahead: it would be waited for until it is that late again.
CALL_BACK = """
    UPDATE alerts_alertrule SET evaluated_unix_ns = %(now_ns)s, due_unix_ns = 0, ran_unix_ns = 0,
                                blind_until_unix_ns = least(blind_until_unix_ns, %(now_ns)s)
    WHERE evaluated_unix_ns > %(ahead_ns)s RETURNING id
"""


def evaluate_due(now_ns: int, limit: int = 50) -> int:
    """Evaluate rules whose next instant has come; how many. ``now_ns`` is the same clock for all workers."""
    call_back(now_ns)
    claimed = claim(now_ns, limit)
    for row in claimed:
        try:
            evaluate(row, now_ns)
        except Exception as error:  # one rule must hold up no other
            if is_the_databases(error):
                raise
            log.exception("rule %d could not be evaluated", row.pk)
            _give_back(row, f"{type(error).__name__}: {error}", now_ns)
    return len(claimed)


def _give_back(row: AlertRule, why: str, now_ns: int) -> None:
    """Say why it was not evaluated; it is tried again in a minute."""
    AlertRule.objects.filter(pk=row.pk, claimed_until_unix_ns=row.claimed_until_unix_ns).update(
        error=why[:400], claimed_until_unix_ns=0, due_unix_ns=now_ns + 60 * SECOND_NS
    )


def claim(now_ns: int, limit: int) -> list[AlertRule]:
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM,
            {"now_ns": now_ns, "until_ns": now_ns + LEASE_NS, "never_ns": now_ns + 2 * LEASE_NS, "limit": limit},
        )
        ids = [row[0] for row in cursor.fetchall()]
    return list(AlertRule.objects.filter(pk__in=ids).select_related("project").order_by("pk"))


def call_back(now_ns: int) -> None:
    """Let rules and alerts that a clock which was ahead has put into the future go on from now."""
    with connection.cursor() as cursor:
        cursor.execute(CALL_BACK, {"now_ns": now_ns, "ahead_ns": now_ns + AHEAD_NS})
        ids = [row[0] for row in cursor.fetchall()]
    for alert in Alert.objects.filter(rule_id__in=ids):
        alert.seen_unix_ns = 0
        for name in ("since_unix_ns", "breached_unix_ns", "last_breach_unix_ns", "untold_unix_ns"):
            if (at := getattr(alert, name)) is not None:
                setattr(alert, name, min(at, now_ns))
        alert.save()


def evaluate(row: AlertRule, now_ns: int) -> None:
    """One claimed rule, at all instants that are due."""
    lease_ns = row.claimed_until_unix_ns
    try:
        rule = row.value()
    except RuleRefused as refused:
        _give_back(row, str(refused), now_ns)
        return
    scope = Scope(project_id=row.project_id)
    blind_ns = row.blind_until_unix_ns
    if was_away(rule, row.ran_unix_ns, now_ns):
        blind_ns = now_ns
    instants, behind_ns = _instants(scope, rule, row.evaluated_unix_ns, now_ns)
    if not instants:
        AlertRule.objects.filter(pk=row.pk, claimed_until_unix_ns=lease_ns).update(
            claimed_until_unix_ns=0, ran_unix_ns=now_ns, blind_until_unix_ns=blind_ns,
            due_unix_ns=max(next_due_ns(rule, row.evaluated_unix_ns), now_ns + 5 * SECOND_NS),
        )  # fmt: skip
        return
    facts, why = _facts(scope, row, rule, instants, behind_ns, now_ns)
    judged = _judge_all(row, rule, instants, facts, why, blind_ns)
    store(
        row, rule, lease_ns, judged, now_ns, evaluated_unix_ns=instants[-1], ran_unix_ns=now_ns,
        blind_until_unix_ns=blind_ns, due_unix_ns=next_due_ns(rule, instants[-1]),
    )  # fmt: skip


def _instants(scope: Scope, rule: Rule, evaluated_ns: int, now_ns: int) -> tuple[list[int], int]:
    """Instants whose windows are complete, and by how much workers are too far behind to be waited for."""
    until_ns = now_ns - DELAY_NS
    if rule.what.source == "engine":
        return due_instants(rule, evaluated_ns, until_ns), 0
    complete_ns = readings.complete_until(scope, now_ns) - DELAY_NS
    if until_ns - complete_ns > BEHIND_MOST_NS:
        return due_instants(rule, evaluated_ns, until_ns), until_ns - complete_ns
    return due_instants(rule, evaluated_ns, complete_ns), 0


def _facts(
    scope: Scope, row: AlertRule, rule: Rule, instants: Sequence[int], behind_ns: int, now_ns: int
) -> tuple[dict[Key, list[Facts]], str]:
    """The facts by group; or none, and in words why there are none."""
    if behind_ns:
        return {}, f"traces wait for a worker since {behind_ns // (60 * SECOND_NS)} minutes, so figures are incomplete"
    try:
        slo = _slo(row, rule)
        return readings.read_facts(scope, rule, slo, instants, zone_of(row.project.zone), now_ns), ""
    except (BadFilter, BadSeries, Incomplete) as error:
        return {}, str(error)


def _slo(row: AlertRule, rule: Rule) -> Slo | None:
    name = getattr(rule.condition, "slo", None)
    return slos_of(row.project_id).get(name) if name else None


def _judge_all(
    row: AlertRule, rule: Rule, instants: Sequence[int], facts: dict[Key, list[Facts]], why: str, blind_ns: int
) -> list[Judged]:
    known = {(alert.group, alert.is_other): alert for alert in Alert.objects.filter(rule=row)}
    keys = [*facts, *(key for key in known if key not in facts)]
    if rule.group_by is None and readings.ALL not in keys:
        keys.append(readings.ALL)
    slo = _slo(row, rule)
    nothing = [Facts()] * len(instants)
    judged = []
    for key in keys:
        before = known[key].standing if key in known else Standing()
        told = facts.get(key, nothing)
        verdicts = [_verdict(rule, slo, at, one, why, blind_ns) for at, one in zip(instants, told, strict=True)]
        group, is_other = key
        labels = labels_of(rule, row.project.slug, group, is_other=is_other)
        judged.append(_judged(rule, key, labels, before, instants, verdicts))
    return judged


def _verdict(rule: Rule, slo: Slo | None, at_ns: int, facts: Facts, why: str, blind_ns: int) -> Verdict:
    if why:
        return failed(why)
    if isinstance(rule.condition, Absence) and at_ns - rule.window_s * SECOND_NS < blind_ns:
        facts = Facts(now=facts.now, blind=facts.now.samples == 0)
    return judge(rule, facts, slo)


def _judged(
    rule: Rule, key: Key, labels: dict[str, str], standing: Standing, instants: Sequence[int],
    verdicts: Sequence[Verdict],
) -> Judged:  # fmt: skip
    timing = timing_of(rule)
    moves: list[tuple[Fired | Resolved, Verdict]] = []
    worst: float | None = None
    for at_ns, verdict in zip(instants, verdicts, strict=True):
        standing, moved = move(standing, verdict, at_ns, timing)
        if moved is not None:
            moves.append((moved, verdict))
        if standing.state is State.FIRING and verdict.outcome is Outcome.BREACHED and verdict.value is not None:
            worst = verdict.value if worst is None else _worse(rule, worst, verdict.value)
    forget = key != readings.ALL and _is_forgotten(rule, standing, instants[-1])
    if forget and standing.state is State.FIRING:
        moves.append((Resolved(at_ns=instants[-1], end=End.GONE), verdicts[-1]))
    return Judged(
        key=key, fingerprint=fingerprint(labels), labels=labels, standing=standing, verdict=verdicts[-1], worst=worst,
        moves=moves, forget=forget,
    )  # fmt: skip


def _worse(rule: Rule, one: float, other: float) -> float:
    return max(one, other) if getattr(rule.condition, "above", True) else min(one, other)


def _is_forgotten(rule: Rule, standing: Standing, at_ns: int) -> bool:
    """A group of which nothing has come for a day or, where that is what fires, for a week."""
    if standing.state is State.NO_DATA:
        return at_ns - standing.since_ns > FORGOTTEN_NS
    is_absent = standing.state is State.FIRING and isinstance(rule.condition, Absence)
    return is_absent and at_ns - standing.since_ns > GIVEN_UP_NS
