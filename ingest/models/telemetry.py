"""Telemetry as it was received: chunks of traces, bodies without a trace, and what waits to be decomposed."""

from __future__ import annotations

from django.db import models
from django.db.models import CompositePrimaryKey


class Signal(models.IntegerChoices):
    TRACES = 1
    METRICS = 2
    LOGS = 3


class Trace(models.Model):
    """Where a trace lives. ``day`` is the UTC day on which its first span came, and never changes: it is the
    partition of all its rows, so a hostile timestamp can neither make partitions nor split a trace."""

    pk = CompositePrimaryKey("trace_id", "project_id")
    trace_id = models.BinaryField(max_length=16)
    project_id = models.IntegerField()
    day = models.DateField()

    class Meta:
        db_table = "ingest_trace"


class Chunk(models.Model):
    """All spans (or log records) of one trace in one export request, as OTLP protobuf under zstd.

    The key holds a digest of the content, so that a client's retry stores nothing twice.
    """

    pk = CompositePrimaryKey("trace_id", "digest", "project_id", "day")
    day = models.DateField()
    project_id = models.IntegerField()
    trace_id = models.BinaryField(max_length=16)
    digest = models.BigIntegerField()
    signal = models.SmallIntegerField(choices=Signal)
    received_unix_ns = models.BigIntegerField()
    items = models.IntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "ingest_chunk"


class Dictionary(models.Model):
    """What zstd needs to unfold the chunks that were made with it. Its id stands in their frames."""

    id = models.AutoField(primary_key=True)
    project_id = models.IntegerField()
    created_unix_ns = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "ingest_dictionary"


class Body(models.Model):
    """Metrics, and log records that belong to no trace: one export request, as OTLP protobuf under zstd.

    ``seen`` says of metrics that they have been read into engines' series.
    """

    pk = CompositePrimaryKey("digest", "project_id", "signal", "day")
    day = models.DateField()
    project_id = models.IntegerField()
    signal = models.SmallIntegerField(choices=Signal)
    digest = models.BigIntegerField()
    received_unix_ns = models.BigIntegerField()
    items = models.IntegerField()
    body = models.BinaryField()
    seen = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "ingest_body"
        indexes = [
            models.Index("received_unix_ns", name="body_unseen", condition=models.Q(seen=False, signal=Signal.METRICS))
        ]


class EngineSpan(models.Model):
    """An engine's span that came without the client's trace context: a call elsewhere may claim it by response id.

    ``client_trace_id`` is the trace whose call did. Until then it is looked for at ``due_unix_ns``, at growing
    intervals: the client's span may come later than the engine's, or earlier.
    """

    pk = CompositePrimaryKey("response_id", "trace_id", "span_id", "project_id", "day")
    day = models.DateField()
    project_id = models.IntegerField()
    response_id = models.TextField()
    response_hash = models.IntegerField()
    trace_id = models.BinaryField(max_length=16)
    span_id = models.BinaryField(max_length=8)
    client_trace_id = models.BinaryField(max_length=16, null=True)
    due_unix_ns = models.BigIntegerField()
    looks = models.SmallIntegerField(default=0)

    class Meta:
        db_table = "ingest_engine_span"
        indexes = [
            models.Index("due_unix_ns", name="engine_span_due", condition=models.Q(client_trace_id=None)),
            models.Index("trace_id", name="engine_span_trace"),
        ]


class DirtyTrace(models.Model):
    """A trace with spans that no decomposition has seen. Written in the transaction that stores the spans.

    ``generation`` rises with every mark, so a worker can only clear the mark that it has read.
    ``claimed_until_unix_ns`` is a lease: a worker that dies gives its traces back by doing nothing.
    """

    pk = CompositePrimaryKey("trace_id", "project_id")
    trace_id = models.BinaryField(max_length=16)
    project_id = models.IntegerField()
    day = models.DateField()
    generation = models.IntegerField(default=1)
    received_unix_ns = models.BigIntegerField()
    due_unix_ns = models.BigIntegerField()
    claimed_until_unix_ns = models.BigIntegerField(default=0)
    tries = models.SmallIntegerField(default=0)
    error = models.TextField(default="", blank=True)

    class Meta:
        db_table = "ingest_dirty_trace"
        indexes = [models.Index("due_unix_ns", name="dirty_by_due")]
