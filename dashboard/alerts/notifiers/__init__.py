"""How messages are sent: one file for each kind of receiver, which registers itself here when it is imported."""

from dashboard.alerts.notifiers import alertmanager, email, pagerduty, slack, webhook
from dashboard.alerts.notifiers.registry import NOTIFIERS

__all__ = ["NOTIFIERS", "alertmanager", "email", "pagerduty", "slack", "webhook"]
