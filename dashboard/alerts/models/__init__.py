"""The tables of alerting. All belong to a project and go with it."""

from dashboard.alerts.models.outbox import AlertEvent, Channel, Delivery, Kind, Notification, Quieted
from dashboard.alerts.models.quiet import Silence
from dashboard.alerts.models.rule import AlertRule, Origin, SloRow
from dashboard.alerts.models.state import Alert, Firing

__all__ = [
    "Alert", "AlertEvent", "AlertRule", "Channel", "Delivery", "Firing", "Kind", "Notification", "Origin", "Quieted",
    "Silence", "SloRow",
]  # fmt: skip
