"""What the decomposition found: runs, their model calls and their tools. Always derivable from the chunks.

Calls and tools are written and read by trace, and counted by time. They come nearly in the order of time, so a
BRIN index finds a window; and a trace's rows are replaced under its lock, so no unique index need guard them.
The two together would take as many bytes as the rows. Columns stand in the order of their alignment, wide ones
first: eight bytes a row for each that would not.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import CompositePrimaryKey, F, Func, Q

from ingest.stages.model import Outside, Stage

OWNERS = (*Stage, *Outside)


class Run(models.Model):
    """One agent run. ``settles_unix_ns`` is when it ceases to be provisional if nothing more comes, so being
    settled needs no second write. ``summary`` and ``detail`` are packed (``ingest/packed.py``): what lists show but
    do not filter by, and what only the run's page reads. ``basis`` is what its estimates rest on, if it has any."""

    pk = CompositePrimaryKey("trace_id", "root_span_id", "project_id", "day")
    start_unix_ns = models.BigIntegerField()
    end_unix_ns = models.BigIntegerField()
    wall_ns = models.BigIntegerField()
    settles_unix_ns = models.BigIntegerField()
    prefill_ns = models.BigIntegerField()
    decode_ns = models.BigIntegerField()
    tool_parsing_ns = models.BigIntegerField()
    tool_execution_ns = models.BigIntegerField()
    re_encoding_ns = models.BigIntegerField()
    continue_decode_ns = models.BigIntegerField()
    queue_ns = models.BigIntegerField()
    transport_ns = models.BigIntegerField()
    model_unsplit_ns = models.BigIntegerField()
    orchestration_ns = models.BigIntegerField()
    ttft_ns = models.BigIntegerField(null=True)
    first_token_ns = models.BigIntegerField(null=True)
    ttft_sum_ns = models.BigIntegerField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    cached_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    day = models.DateField()
    project_id = models.IntegerField()
    rounds = models.IntegerField()
    spans = models.IntegerField()
    tool_count = models.IntegerField()
    tool_failures = models.IntegerField()
    warning_count = models.SmallIntegerField()
    algorithm = models.SmallIntegerField()
    root_ended = models.BooleanField()
    failed = models.BooleanField()
    trace_id = models.BinaryField(max_length=16)
    root_span_id = models.BinaryField(max_length=8)
    name = models.TextField()
    service = models.TextField(null=True)
    agent = models.TextField(null=True)
    version = models.TextField(null=True)
    environment = models.TextField(null=True)
    session_id = models.TextField(null=True)
    user_id = models.TextField(null=True)
    model = models.TextField(null=True)
    engine = models.TextField(null=True)
    error = models.TextField(null=True)
    tool_names = models.TextField(default="")
    model_names = ArrayField(models.TextField(), null=True)  # none where all calls used ``model``
    summary = models.BinaryField()
    detail = models.BinaryField()
    basis = models.JSONField(null=True)

    class Meta:
        db_table = "ingest_run"
        indexes = [
            models.Index("project_id", "end_unix_ns", name="run_by_time"),
            # Those in flight are few among all.
            models.Index("settles_unix_ns", name="run_in_flight", condition=Q(root_ended=False)),
            # A session or a user has few runs, and they may lie far apart. By their hash, since texts take twice the
            # bytes; without the time, so that equal entries share one.
            *(
                models.Index(
                    "project_id",
                    Func(column, function="hashtext", output_field=models.IntegerField()),
                    name=name,
                    condition=Q(**{f"{column}__isnull": False}),
                )
                for column, name in (("session_id", "run_by_session"), ("user_id", "run_by_user"))
            ),
            BrinIndex("settles_unix_ns", name="run_by_settling", pages_per_range=16, autosummarize=True),
        ]
        constraints = [
            models.CheckConstraint(
                name="run_stages_add_up",
                condition=Q(wall_ns=reduce(add, [F(f"{owner}_ns") for owner in OWNERS])),
            ),
            models.CheckConstraint(
                name="run_stages_not_negative",
                condition=reduce(lambda a, b: a & b, [Q(**{f"{owner}_ns__gte": 0}) for owner in OWNERS]),
            ),
        ]


class Call(models.Model):
    """One model call of a run, as far as figures are counted by it; the rest is in its run's ``detail``. A model of ""
    is that of its run, which is the trace's only one where ``root_span_id`` is none (``ingest/rows.py``).

    ``end_unix_ns`` decides in which window it counts. ``response_hash`` is how an engine's span that comes
    later finds it (``ingest/joining.py``).
    """

    pk = CompositePrimaryKey("trace_id", "span_id", "project_id", "day")
    start_unix_ns = models.BigIntegerField()
    end_unix_ns = models.BigIntegerField()
    queue_ns = models.BigIntegerField(null=True)
    prefill_ns = models.BigIntegerField(null=True)
    decode_ns = models.BigIntegerField(null=True)
    ttft_ns = models.BigIntegerField(null=True)
    tpot_ns = models.BigIntegerField(null=True)
    day = models.DateField()
    project_id = models.IntegerField()
    input_tokens = models.IntegerField(null=True)
    cached_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True)
    response_hash = models.IntegerField(null=True)
    round = models.IntegerField()
    attempts = models.SmallIntegerField()
    scope = models.SmallIntegerField()
    source = models.SmallIntegerField()
    carries_tool_results = models.BooleanField()
    streamed = models.BooleanField(null=True)
    trace_id = models.BinaryField(max_length=16)
    root_span_id = models.BinaryField(max_length=8, null=True)
    span_id = models.BinaryField(max_length=8)
    model = models.TextField(null=True)
    engine = models.TextField(null=True)
    error = models.TextField(null=True)

    class Meta:
        db_table = "ingest_call"
        indexes = [
            models.Index("trace_id", name="call_by_trace"),
            BrinIndex("end_unix_ns", name="call_by_end", pages_per_range=16, autosummarize=True),
            models.Index("response_hash", name="call_by_response", condition=Q(response_hash__isnull=False)),
        ]


class Tool(models.Model):
    """One tool call of a run, as far as figures are counted by it; the rest is in its run's ``detail``. Where it failed
    of nothing, and where its run is the trace's only one, ``error`` and ``root_span_id`` are empty."""

    pk = CompositePrimaryKey("trace_id", "span_id", "project_id", "day")
    start_unix_ns = models.BigIntegerField()
    end_unix_ns = models.BigIntegerField()
    day = models.DateField()
    project_id = models.IntegerField()
    round = models.IntegerField()
    attempts = models.SmallIntegerField()
    scope = models.SmallIntegerField()
    ok = models.BooleanField(null=True)
    abandoned = models.BooleanField()
    pseudo = models.BooleanField()
    agent = models.BooleanField()
    trace_id = models.BinaryField(max_length=16)
    root_span_id = models.BinaryField(max_length=8, null=True)
    span_id = models.BinaryField(max_length=8)
    name = models.TextField()
    error = models.TextField(null=True)

    class Meta:
        db_table = "ingest_tool"
        indexes = [
            models.Index("trace_id", name="tool_by_trace"),
            BrinIndex("end_unix_ns", name="tool_by_end", pages_per_range=16, autosummarize=True),
        ]
