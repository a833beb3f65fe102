"""The outbox: what happened, whom it is for, and the messages that tell it.

An event is written with the state that it tells of. Each of its deliveries becomes part of exactly one notification,
which keeps its id and its words however often it is tried.
"""

from __future__ import annotations

from django.db import models


class Channel(models.Model):
    """Where messages go. ``options`` may be shown; ``secret`` is encrypted. A ``is_usual`` one gets all alerts whose
    rule names no channel."""

    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="channels")
    name = models.CharField(max_length=200)
    notifier = models.CharField(max_length=20)
    options = models.JSONField(default=dict)
    secret = models.BinaryField(null=True)
    is_usual = models.BooleanField(default=True)
    enabled = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="channel_once")]

    def __str__(self) -> str:
        return self.name


class Kind(models.TextChoices):
    FIRED = "fired"
    RESOLVED = "resolved"
    REPEATED = "repeated"


class AlertEvent(models.Model):
    """``at_unix_ns`` is the instant that was evaluated. ``body`` holds the facts of that instant."""

    id = models.UUIDField(primary_key=True)
    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="alert_events")
    firing = models.ForeignKey("alerts.Firing", on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=Kind)
    at_unix_ns = models.BigIntegerField()
    body = models.JSONField()

    def __str__(self) -> str:
        return f"{self.kind} {self.firing_id}"


class Quieted(models.TextChoices):
    """Why somebody was not told."""

    SILENCED = "silenced", "silenced"
    NOT_TOLD_BEFORE = "not_told_before", "nobody was told that it fired"
    ENDED = "ended", "it was over before it was told"
    CHANNEL_OFF = "channel_off", "the channel is off"


class Notification(models.Model):
    """A message to a channel. ``id`` goes with every try, so a receiver can drop what it has seen."""

    id = models.UUIDField(primary_key=True)
    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="notifications")
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="notifications")
    body = models.JSONField()
    made_unix_ns = models.BigIntegerField()
    due_unix_ns = models.BigIntegerField()
    claimed_until_unix_ns = models.BigIntegerField(default=0)
    tries = models.IntegerField(default=0)
    sent_unix_ns = models.BigIntegerField(null=True)
    given_up_unix_ns = models.BigIntegerField(null=True)
    error = models.CharField(max_length=400, blank=True, default="")

    class Meta:
        indexes = [
            models.Index(
                fields=["due_unix_ns"], name="notification_owed",
                condition=models.Q(sent_unix_ns=None, given_up_unix_ns=None),
            )
        ]  # fmt: skip

    def __str__(self) -> str:
        return str(self.id)


class Delivery(models.Model):
    """One event for one channel. It waits until ``due_unix_ns``, together with others of equal ``bundle_key``."""

    event = models.ForeignKey(AlertEvent, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    bundle_key = models.TextField()
    due_unix_ns = models.BigIntegerField()
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, null=True, related_name="deliveries")
    quieted = models.CharField(max_length=16, choices=Quieted, null=True)
    silence_id = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["event", "channel"], name="told_once")]
        indexes = [
            models.Index(
                fields=["due_unix_ns"], name="delivery_waiting",
                condition=models.Q(notification=None, quieted=None),
            )
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.event_id} to {self.channel_id}"
