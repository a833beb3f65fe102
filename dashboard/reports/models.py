"""Reports as they were sent, to whom they go, and which mails are owed."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from ingest.models import Project


class Schedule(models.Model):
    """When a project's report is sent, by the project's own clock, and to whom. Weeks that ended before ``since`` are
    not sent by themselves."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="report_schedule")
    enabled = models.BooleanField(default=False)
    weekday = models.PositiveSmallIntegerField(default=0)  # Monday is 0
    hour = models.PositiveSmallIntegerField(default=7)
    recipients = ArrayField(models.CharField(max_length=254), default=list, blank=True)
    since = models.DateTimeField(default=None, null=True)

    class Meta:
        db_table = "reports_schedule"


class KeptReport(models.Model):
    """A week as it was told when it was sent: it stays so, whatever comes later. ``body`` is the report as JSON."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="kept_reports")
    week = models.CharField(max_length=8)
    made_at = models.DateTimeField(db_default=Now())
    body = models.BinaryField()

    class Meta:
        db_table = "reports_kept"
        constraints = [models.UniqueConstraint(fields=["project", "week"], name="report_kept_once")]


class OwedMail(models.Model):
    """One copy of a kept report for one person, written with the report in one transaction. ``claimed_until`` begins at
    the epoch, never null, so that it compares. The Message-ID stays the same over all tries."""

    report = models.ForeignKey(KeptReport, on_delete=models.CASCADE, related_name="mails")
    recipient = models.CharField(max_length=254)
    message_id = models.CharField(max_length=200, unique=True)
    sent_at = models.DateTimeField(null=True)
    gave_up_at = models.DateTimeField(null=True)
    claimed_until_unix_ns = models.BigIntegerField(default=0)
    due_unix_ns = models.BigIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(default="", blank=True)

    class Meta:
        db_table = "reports_owed_mail"
        constraints = [models.UniqueConstraint(fields=["report", "recipient"], name="mail_owed_once")]
