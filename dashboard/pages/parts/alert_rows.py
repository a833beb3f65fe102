"""What the alerts pages show: rows of rules, alerts, silences, channels and objectives, in words and figures."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from dashboard import figures
from dashboard.alerts import history
from dashboard.alerts.bundling import quiets_of
from dashboard.alerts.composing import links_of, run_filter, slowest, stage_of
from dashboard.alerts.core.measures import MEASURES, Shape
from dashboard.alerts.core.quiet import DAYS, silenced_by, write_minute
from dashboard.alerts.core.rule import SECOND_NS
from dashboard.alerts.core.words import amount_words, figure_words
from dashboard.alerts.core.written import OBJECTIVES, usual_stat
from dashboard.alerts.models import Alert, AlertRule, Channel, Delivery, Firing, Notification, Quieted, Silence, SloRow
from dashboard.alerts.notifiers import NOTIFIERS
from ingest.scope import Scope

TONES = {"ok": "ok", "pending": "warn", "firing": "bad", "no_data": "idle", "error": "warn"}
STATE_WORDS = {"ok": "ok", "pending": "pending", "firing": "firing", "no_data": "no data", "error": "cannot be told"}
ORDER = ("firing", "error", "pending", "no_data", "ok")
END_WORDS = {"recovered": "recovered", "no_data": "no data came any more", "rule_changed": "the rule was changed",
             "gone": "the rule is gone"}  # fmt: skip
GOOD = tuple((name, f"{MEASURES[name].label}{' at most' if MEASURES[name].shape is Shape.SPREAD else ': none'}")
             for name in OBJECTIVES)  # fmt: skip
DAY_NS = 86_400 * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """``states`` are how many of its alerts stand how, the worst first."""

    row: AlertRule
    tone: str
    words: str
    condition: str
    scope: str
    states: list[tuple[str, int]]
    severity: str


def rule_rows(scope: Scope) -> list[RuleRow]:
    """All rules, those in trouble first."""
    by_rule: dict[int, Counter[str]] = {}
    for rule_id, state in Alert.objects.filter(project_id=scope.project_id).values_list("rule_id", "state"):
        by_rule.setdefault(rule_id, Counter())[state] += 1
    rules = AlertRule.objects.filter(project_id=scope.project_id).order_by("name")
    rows = [_rule_row(row, by_rule.get(row.pk, Counter())) for row in rules]
    return sorted(rows, key=lambda one: (not one.row.enabled, _rank(one), one.row.name.lower()))


def _rank(one: RuleRow) -> int:
    return ORDER.index(one.states[0][0]) if one.states else len(ORDER)


def _rule_row(row: AlertRule, states: Counter[str]) -> RuleRow:
    ordered = [(state, states[state]) for state in ORDER if states[state]]
    worst = ordered[0][0] if ordered else None
    tone, words = TONES[worst] if worst else "idle", STATE_WORDS[worst] if worst else "not looked at yet"
    if row.error:
        tone, words = "warn", "cannot be told"
    if not row.enabled:
        tone, words = "idle", "off"
    return RuleRow(
        row=row, tone=tone, words=words, condition=condition_words(row.body), scope=scope_words(row.body),
        states=[(STATE_WORDS[state], number) for state, number in ordered] if sum(states.values()) > 1 else [],
        severity=row.body.get("severity", "warning"),
    )  # fmt: skip


def condition_words(told: dict[str, Any]) -> str:
    """``TTFT p95 above 3s for 5m``."""
    if "burns" in told:
        return f"{told['burns']['slo']} burns its error budget"
    measure = MEASURES[told["of"]]
    name = figure_words(measure.name, told.get("stat") or usual_stat(measure))
    waits = f" for {told['for']}" if told.get("for") else ""
    if told.get("absent"):
        return f"No {measure.part_of} for {told.get('window', '5m')}"
    for key, words in (("above", "above"), ("below", "below"), ("rises", "above last week’s by"),
                       ("falls", "below last week’s by")):  # fmt: skip
        if key in told:
            return f"{name} {words} {told[key]}{waits}"
    return name


def scope_words(told: dict[str, Any]) -> str:
    where = [f"{name} {value}" for name, value in (told.get("where") or {}).items()]
    by = f"by {told['group_by']}" if told.get("group_by") else ""
    return ", ".join([*where, *([by] if by else [])])


def alert_rows(row: AlertRule) -> list[dict[str, Any]]:
    """How each alert of a rule stands, the worst first."""
    alerts = sorted(row.alerts.all(), key=lambda alert: (ORDER.index(alert.state), alert.group or ""))
    burns = "burns" in row.body
    try:
        rule = row.value()
    except ValueError:
        return []

    def words(value: float | None) -> str:
        return f"{value:.1f} times" if burns and value is not None else amount_words(value, rule.measure, rule.stat)

    return [
        {
            "alert": alert, "name": alert.labels.get(rule.group_by) if rule.group_by else "all", "why": alert.why,
            "tone": TONES[alert.state], "words": STATE_WORDS[alert.state], "value": words(alert.value),
            "limit": words(alert.limit),
        }
        for alert in alerts
    ]  # fmt: skip


def firing_context(firing: Firing, now_ns: int) -> dict[str, Any]:
    """The page of one firing."""
    until_ns = firing.resolved_unix_ns or now_ns
    from_ns = max(min(firing.since_unix_ns, firing.fired_unix_ns) - firing.window_s * SECOND_NS, until_ns - DAY_NS)
    wanted = run_filter(firing, from_ns, until_ns)
    told = Delivery.objects.filter(event__firing=firing).select_related("event", "channel", "notification")
    return {
        "row": history.row_of(firing), "links": links_of(firing, wanted), "runs": slowest(firing, wanted, now_ns),
        "stage": stage_of(firing, wanted, now_ns), "told": [_told(one) for one in told.order_by("pk")],
        "end_words": END_WORDS.get(firing.end, ""), "note": firing.rule.body.get("note", "") if firing.rule else "",
        "silence": silenced_by(quiets_of(firing.project_id), firing.labels, now_ns),
        "matchers": ", ".join(
            f'{name}="{value}"' for name, value in firing.labels.items() if name not in ("project", "severity")
        ),
    }  # fmt: skip


def _told(one: Delivery) -> dict[str, Any]:
    sent: Notification | None = one.notification
    tone, words = "idle", "waits to be sent"
    if one.quieted:
        words = f"not told: {Quieted(one.quieted).label}"
    elif sent is not None and sent.sent_unix_ns:
        tone, words = "ok", "sent"
    elif sent is not None and sent.given_up_unix_ns:
        tone, words = "bad", f"given up: {sent.error}"
    elif sent is not None and sent.error:
        tone, words = "warn", f"failed {figures.plural(sent.tries, 'time')}, tried again: {sent.error}"
    return {
        "kind": one.event.kind, "at_unix_ns": one.event.at_unix_ns, "channel": one.channel.name, "tone": tone,
        "words": words, "sent_unix_ns": sent.sent_unix_ns if sent else None, "id": sent.pk if sent else None,
    }  # fmt: skip


def silence_row(row: Silence, now_ns: int) -> dict[str, Any]:
    when = ""
    if row.weekly:
        days = ", ".join(day.capitalize() for day in DAYS if day in row.weekly["days"])
        start, end = (write_minute(row.weekly[key]) for key in ("from_minute", "to_minute"))
        when = f"{days} {start} to {end}, {row.weekly['zone']}"
    return {"row": row, "when": when, "holds": row.value.holds(now_ns)}


def channel_row(row: Channel) -> dict[str, Any]:
    notifier = NOTIFIERS.get(row.notifier)
    latest = row.notifications.order_by("-made_unix_ns").first()
    tone, words = "idle", "nothing sent yet"
    if not row.enabled:
        words = "off"
    elif latest is not None and latest.sent_unix_ns:
        tone, words = "ok", "works"
    elif latest is not None and latest.error:
        tone, words = ("bad" if latest.given_up_unix_ns else "warn"), latest.error
    return {
        "row": row, "label": notifier.label if notifier else row.notifier, "tone": tone, "words": words,
        "latest": latest, "key": str(row.pk), "to": row.options.get("url") or row.options.get("to") or "",
    }  # fmt: skip


def objective_rows(scope: Scope, now_ns: int) -> list[dict[str, Any]]:
    """Each objective over its own window up to now, and in the last hour how fast its budget burns."""
    rows = []
    for row in SloRow.objects.filter(project_id=scope.project_id).order_by("name"):
        slo = row.value
        result = history.slo_result(scope, slo, now_ns - slo.window_days * DAY_NS, now_ns)
        hour = history.slo_result(scope, slo, now_ns - 3600 * SECOND_NS, now_ns)
        spent = None if hour.budget_left is None else 1 - hour.budget_left
        rows.append({
            "pk": row.pk, "slo": slo, "result": result, "reached": _share_words(result.share),
            "burn": f"{spent:.1f}" if spent is not None else None,
            "good": f"{slo.what.label} at most {figures.duration(slo.limit_ns)}" if slo.limit_ns else
                    f"{slo.what.label}: none",
            "target": _share_words(slo.target),
            "tone": "idle" if result.share is None else "ok" if result.is_met else "bad",
            "words": "no data" if result.share is None else "met" if result.is_met else "missed",
        })  # fmt: skip
    return rows



def _share_words(share: float | None) -> str:
    """With as many places as tell 99.9 % from 100 %."""
    return figures.UNKNOWN if share is None else f"{math.floor(round(share * 100_000, 4)) / 1000:g}{figures.THIN}%"
