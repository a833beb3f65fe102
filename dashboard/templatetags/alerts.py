"""Alerts on pages of others: ``{% load alerts %}{% firing_alerts %}``."""

from __future__ import annotations

import time
from typing import Any

from django import template

from dashboard.alerts.history import read_firing_now
from dashboard.models import Role

register = template.Library()


@register.inclusion_tag("alerts/on_live.html", takes_context=True)
def firing_alerts(context: template.Context) -> dict[str, Any]:
    """What fires now, which the page then fetches again whenever its figures change."""
    access = context["access"]
    return {
        "request": context["request"], "csrf_token": context.get("csrf_token"), "now_ns": time.time_ns(),
        "firing": read_firing_now(access.scope), "may_change": access.role.allows(Role.EDITOR),
    }  # fmt: skip


# Mail programs know no variables: these are the values of tokens.css.
EDGES = {"critical": "#c4302b", "warning": "#d9a23a", "info": "#8b95a1"}
STAGES = {
    "prefill": "#23418f", "decode": "#12786b", "tool_parsing": "#7e2f16", "tool_execution": "#c3892e",
    "re_encoding": "#447fcb", "continue_decode": "#35a690", "queue": "#75557f", "transport": "#8596a5",
    "model_unsplit": "#aeafb2", "orchestration": "#cfcbbb",
}  # fmt: skip


@register.filter
def mail_tone(alert: dict[str, Any]) -> dict[str, str]:
    """How an alert looks in a mail: its word, and colours of its edge, word and stage."""
    stage = alert["stage"]["stage"] if alert["stage"] else ""
    if alert["status"] == "resolved":
        return {"word": "Resolved", "edge": "#2f855a", "text": "#1f6b45", "stage": STAGES.get(stage, "")}
    text = "#a3241f" if alert["severity"] == "critical" else "#7a5200" if alert["severity"] == "warning" else "#5b6672"
    word = "Still firing" if alert["kind"] == "repeated" else "Firing"
    return {"word": word, "edge": EDGES[alert["severity"]], "text": text, "stage": STAGES.get(stage, "")}
