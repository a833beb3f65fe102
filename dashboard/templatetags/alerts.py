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
