import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.expressions
from django.db import migrations, models

from ingest.partitioned_model import CreatePartitionedModel

# A partition for each day of which there are chunks, and every trace marked dirty, one due after another.
DECOMPOSE_ANEW = """
DO $$
DECLARE
    stored record;
    derived text;
BEGIN
    FOR stored IN
        SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') AS day
        FROM pg_inherits WHERE inhparent = 'ingest_chunk'::regclass
    LOOP
        FOREACH derived IN ARRAY ARRAY['ingest_run', 'ingest_call', 'ingest_tool', 'ingest_engine_span'] LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                           derived || '_' || to_char(stored.day, 'YYYYMMDD'), derived, stored.day, stored.day + 1);
        END LOOP;
    END LOOP;
END $$;
INSERT INTO ingest_dirty_trace AS dirty (trace_id, project_id, day, generation, received_unix_ns, due_unix_ns,
                                         claimed_until_unix_ns, tries, error)
SELECT trace_id, project_id, day, 1, max(received_unix_ns), max(received_unix_ns), 0, 0, ''
FROM ingest_chunk GROUP BY trace_id, project_id, day ORDER BY trace_id, project_id
ON CONFLICT (trace_id, project_id) DO UPDATE SET generation = dirty.generation + 1;
"""


class Migration(migrations.Migration):
    """Runs, calls and tools in half the bytes. They are made anew from the chunks, which stay as they are."""

    dependencies = [
        ('ingest', '0001_initial'),
    ]

    operations = [
        migrations.DeleteModel(name='Run'),
        migrations.DeleteModel(name='Call'),
        migrations.DeleteModel(name='Tool'),
        migrations.DeleteModel(name='EngineSpan'),
        CreatePartitionedModel(
            name='Run',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'root_span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('start_unix_ns', models.BigIntegerField()),
                ('end_unix_ns', models.BigIntegerField()),
                ('wall_ns', models.BigIntegerField()),
                ('settles_unix_ns', models.BigIntegerField()),
                ('prefill_ns', models.BigIntegerField()),
                ('decode_ns', models.BigIntegerField()),
                ('tool_parsing_ns', models.BigIntegerField()),
                ('tool_execution_ns', models.BigIntegerField()),
                ('re_encoding_ns', models.BigIntegerField()),
                ('continue_decode_ns', models.BigIntegerField()),
                ('queue_ns', models.BigIntegerField()),
                ('transport_ns', models.BigIntegerField()),
                ('model_unsplit_ns', models.BigIntegerField()),
                ('orchestration_ns', models.BigIntegerField()),
                ('ttft_ns', models.BigIntegerField(null=True)),
                ('first_token_ns', models.BigIntegerField(null=True)),
                ('ttft_sum_ns', models.BigIntegerField(null=True)),
                ('input_tokens', models.BigIntegerField(null=True)),
                ('cached_tokens', models.BigIntegerField(null=True)),
                ('output_tokens', models.BigIntegerField(null=True)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('rounds', models.IntegerField()),
                ('spans', models.IntegerField()),
                ('tool_count', models.IntegerField()),
                ('tool_failures', models.IntegerField()),
                ('warning_count', models.SmallIntegerField()),
                ('algorithm', models.SmallIntegerField()),
                ('root_ended', models.BooleanField()),
                ('failed', models.BooleanField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('root_span_id', models.BinaryField(max_length=8)),
                ('name', models.TextField()),
                ('service', models.TextField(null=True)),
                ('agent', models.TextField(null=True)),
                ('version', models.TextField(null=True)),
                ('environment', models.TextField(null=True)),
                ('session_id', models.TextField(null=True)),
                ('user_id', models.TextField(null=True)),
                ('model', models.TextField(null=True)),
                ('engine', models.TextField(null=True)),
                ('error', models.TextField(null=True)),
                ('tool_names', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('model_names', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('summary', models.BinaryField()),
                ('detail', models.BinaryField()),
                ('basis', models.JSONField(null=True)),
            ],
            options={
                'db_table': 'ingest_run',
                'indexes': [models.Index(models.F('project_id'), models.OrderBy(models.F('end_unix_ns'), descending=True), name='run_by_end')],
                'constraints': [models.CheckConstraint(condition=models.Q(('wall_ns', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('prefill_ns'), '+', models.F('decode_ns')), '+', models.F('tool_parsing_ns')), '+', models.F('tool_execution_ns')), '+', models.F('re_encoding_ns')), '+', models.F('continue_decode_ns')), '+', models.F('queue_ns')), '+', models.F('transport_ns')), '+', models.F('model_unsplit_ns')), '+', models.F('orchestration_ns')))), name='run_stages_add_up'), models.CheckConstraint(condition=models.Q(('prefill_ns__gte', 0), ('decode_ns__gte', 0), ('tool_parsing_ns__gte', 0), ('tool_execution_ns__gte', 0), ('re_encoding_ns__gte', 0), ('continue_decode_ns__gte', 0), ('queue_ns__gte', 0), ('transport_ns__gte', 0), ('model_unsplit_ns__gte', 0), ('orchestration_ns__gte', 0)), name='run_stages_not_negative')],
            },
        ),
        CreatePartitionedModel(
            name='Call',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('start_unix_ns', models.BigIntegerField()),
                ('end_unix_ns', models.BigIntegerField()),
                ('queue_ns', models.BigIntegerField(null=True)),
                ('prefill_ns', models.BigIntegerField(null=True)),
                ('decode_ns', models.BigIntegerField(null=True)),
                ('ttft_ns', models.BigIntegerField(null=True)),
                ('tpot_ns', models.BigIntegerField(null=True)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('input_tokens', models.IntegerField(null=True)),
                ('cached_tokens', models.IntegerField(null=True)),
                ('output_tokens', models.IntegerField(null=True)),
                ('response_hash', models.IntegerField(null=True)),
                ('round', models.IntegerField()),
                ('attempts', models.SmallIntegerField()),
                ('scope', models.SmallIntegerField()),
                ('source', models.SmallIntegerField()),
                ('carries_tool_results', models.BooleanField()),
                ('streamed', models.BooleanField(null=True)),
                ('trace_id', models.BinaryField(max_length=16)),
                ('root_span_id', models.BinaryField(max_length=8)),
                ('span_id', models.BinaryField(max_length=8)),
                ('model', models.TextField(null=True)),
                ('engine', models.TextField(null=True)),
                ('error', models.TextField(null=True)),
            ],
            options={
                'db_table': 'ingest_call',
                'indexes': [models.Index(models.F('trace_id'), name='call_by_trace'), django.contrib.postgres.indexes.BrinIndex(models.F('end_unix_ns'), autosummarize=True, name='call_by_end', pages_per_range=16), models.Index(models.F('response_hash'), condition=models.Q(('response_hash__isnull', False)), name='call_by_response')],
                'constraints': [],
            },
        ),
        CreatePartitionedModel(
            name='Tool',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('start_unix_ns', models.BigIntegerField()),
                ('end_unix_ns', models.BigIntegerField()),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('round', models.IntegerField()),
                ('attempts', models.SmallIntegerField()),
                ('scope', models.SmallIntegerField()),
                ('ok', models.BooleanField(null=True)),
                ('abandoned', models.BooleanField()),
                ('pseudo', models.BooleanField()),
                ('agent', models.BooleanField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('root_span_id', models.BinaryField(max_length=8)),
                ('span_id', models.BinaryField(max_length=8)),
                ('name', models.TextField()),
                ('error', models.TextField(null=True)),
            ],
            options={
                'db_table': 'ingest_tool',
                'indexes': [models.Index(models.F('trace_id'), name='tool_by_trace'), django.contrib.postgres.indexes.BrinIndex(models.F('end_unix_ns'), autosummarize=True, name='tool_by_end', pages_per_range=16)],
                'constraints': [],
            },
        ),
        CreatePartitionedModel(
            name='EngineSpan',
            fields=[
                ('pk', models.CompositePrimaryKey('response_id', 'trace_id', 'span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('response_id', models.TextField()),
                ('response_hash', models.IntegerField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('span_id', models.BinaryField(max_length=8)),
                ('client_trace_id', models.BinaryField(max_length=16, null=True)),
                ('due_unix_ns', models.BigIntegerField()),
                ('looks', models.SmallIntegerField(default=0)),
            ],
            options={
                'db_table': 'ingest_engine_span',
                'indexes': [models.Index(models.F('due_unix_ns'), condition=models.Q(('client_trace_id', None)), name='engine_span_due'), models.Index(models.F('trace_id'), name='engine_span_trace')],
                'constraints': [],
            },
        ),
        migrations.RunSQL(
            # What is packed need not be compressed again. Calls and tools are replaced by trace under its lock.
            sql="""
                ALTER TABLE ingest_run ALTER COLUMN detail SET STORAGE EXTERNAL;
                ALTER TABLE ingest_call DROP CONSTRAINT ingest_call_pkey;
                ALTER TABLE ingest_tool DROP CONSTRAINT ingest_tool_pkey;
            """,
            reverse_sql=migrations.RunSQL.noop,
        ),
        migrations.RunSQL(DECOMPOSE_ANEW, reverse_sql=migrations.RunSQL.noop),
    ]
