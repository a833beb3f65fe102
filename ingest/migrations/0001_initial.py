import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.expressions
from django.db import migrations, models

from ingest.partitioned_model import CreatePartitionedModel


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        CreatePartitionedModel(
            name='Body',
            fields=[
                ('pk', models.CompositePrimaryKey('digest', 'project_id', 'signal', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('signal', models.SmallIntegerField(choices=[(1, 'Traces'), (2, 'Metrics'), (3, 'Logs')])),
                ('digest', models.BigIntegerField()),
                ('received_unix_ns', models.BigIntegerField()),
                ('items', models.IntegerField()),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_body',
            },
        ),
        CreatePartitionedModel(
            name='Chunk',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'digest', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('digest', models.BigIntegerField()),
                ('signal', models.SmallIntegerField(choices=[(1, 'Traces'), (2, 'Metrics'), (3, 'Logs')])),
                ('received_unix_ns', models.BigIntegerField()),
                ('items', models.IntegerField()),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_chunk',
            },
        ),
        migrations.CreateModel(
            name='Dictionary',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('project_id', models.IntegerField()),
                ('created_unix_ns', models.BigIntegerField()),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_dictionary',
            },
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('name', models.CharField(max_length=200)),
                ('zone', models.CharField(default='UTC', max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Trace',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'project_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('trace_id', models.BinaryField(max_length=16)),
                ('project_id', models.IntegerField()),
                ('day', models.DateField()),
            ],
            options={
                'db_table': 'ingest_trace',
            },
        ),
        CreatePartitionedModel(
            name='Call',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('root_span_id', models.BinaryField(max_length=8)),
                ('span_id', models.BinaryField(max_length=8)),
                ('parent_span_id', models.BinaryField(max_length=8, null=True)),
                ('start_unix_ns', models.BigIntegerField()),
                ('end_unix_ns', models.BigIntegerField()),
                ('wall_ns', models.BigIntegerField()),
                ('queue_ns', models.BigIntegerField(null=True)),
                ('prefill_ns', models.BigIntegerField(null=True)),
                ('decode_ns', models.BigIntegerField(null=True)),
                ('transport_ns', models.BigIntegerField(null=True)),
                ('ttft_ns', models.BigIntegerField(null=True)),
                ('tpot_ns', models.BigIntegerField(null=True)),
                ('first_token_unix_ns', models.BigIntegerField(null=True)),
                ('input_tokens', models.IntegerField(null=True)),
                ('cached_tokens', models.IntegerField(null=True)),
                ('output_tokens', models.IntegerField(null=True)),
                ('attempts', models.SmallIntegerField()),
                ('round', models.IntegerField()),
                ('scope', models.SmallIntegerField()),
                ('source', models.SmallIntegerField()),
                ('carries_tool_results', models.BooleanField()),
                ('streamed', models.BooleanField(null=True)),
                ('model', models.TextField(null=True)),
                ('engine', models.TextField(null=True)),
                ('provider', models.TextField(null=True)),
                ('error', models.TextField(null=True)),
                ('finish_reason', models.TextField(null=True)),
                ('response_id', models.TextField(null=True)),
            ],
            options={
                'db_table': 'ingest_call',
                'indexes': [models.Index(models.F('trace_id'), name='call_by_trace'), django.contrib.postgres.indexes.BrinIndex(models.F('end_unix_ns'), autosummarize=True, name='call_by_end', pages_per_range=16), django.contrib.postgres.indexes.HashIndex(models.F('response_id'), condition=models.Q(('response_id__isnull', False)), name='call_by_response')],
            },
        ),
        migrations.CreateModel(
            name='DirtyTrace',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'project_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('trace_id', models.BinaryField(max_length=16)),
                ('project_id', models.IntegerField()),
                ('day', models.DateField()),
                ('generation', models.IntegerField(default=1)),
                ('received_unix_ns', models.BigIntegerField()),
                ('due_unix_ns', models.BigIntegerField()),
                ('claimed_until_unix_ns', models.BigIntegerField(default=0)),
                ('tries', models.SmallIntegerField(default=0)),
                ('error', models.TextField(blank=True, default='')),
            ],
            options={
                'db_table': 'ingest_dirty_trace',
                'indexes': [models.Index(models.F('due_unix_ns'), name='dirty_by_due')],
            },
        ),
        CreatePartitionedModel(
            name='EngineSpan',
            fields=[
                ('pk', models.CompositePrimaryKey('response_id', 'trace_id', 'span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('response_id', models.TextField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('span_id', models.BinaryField(max_length=8)),
                ('client_trace_id', models.BinaryField(max_length=16, null=True)),
                ('due_unix_ns', models.BigIntegerField()),
                ('looks', models.SmallIntegerField(default=0)),
            ],
            options={
                'db_table': 'ingest_engine_span',
                'indexes': [models.Index(models.F('due_unix_ns'), condition=models.Q(('client_trace_id', None)), name='engine_span_due'), models.Index(models.F('trace_id'), name='engine_span_trace')],
            },
        ),
        migrations.CreateModel(
            name='IngestKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('hint', models.CharField(max_length=16)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='ingest_keys', to='ingest.project')),
            ],
        ),
        CreatePartitionedModel(
            name='Run',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'root_span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('root_span_id', models.BinaryField(max_length=8)),
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
                ('rounds', models.IntegerField()),
                ('spans', models.IntegerField()),
                ('root_ended', models.BooleanField()),
                ('failed', models.BooleanField()),
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
                ('detail', models.JSONField(default=dict)),
                ('phases', models.BinaryField(default=b'')),
            ],
            options={
                'db_table': 'ingest_run',
                'indexes': [models.Index(models.F('project_id'), models.OrderBy(models.F('end_unix_ns'), descending=True), name='run_by_end')],
                'constraints': [models.CheckConstraint(condition=models.Q(('wall_ns', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('prefill_ns'), '+', models.F('decode_ns')), '+', models.F('tool_parsing_ns')), '+', models.F('tool_execution_ns')), '+', models.F('re_encoding_ns')), '+', models.F('continue_decode_ns')), '+', models.F('queue_ns')), '+', models.F('transport_ns')), '+', models.F('model_unsplit_ns')), '+', models.F('orchestration_ns')))), name='run_stages_add_up'), models.CheckConstraint(condition=models.Q(('prefill_ns__gte', 0), ('decode_ns__gte', 0), ('tool_parsing_ns__gte', 0), ('tool_execution_ns__gte', 0), ('re_encoding_ns__gte', 0), ('continue_decode_ns__gte', 0), ('queue_ns__gte', 0), ('transport_ns__gte', 0), ('model_unsplit_ns__gte', 0), ('orchestration_ns__gte', 0)), name='run_stages_not_negative')],
            },
        ),
        CreatePartitionedModel(
            name='Tool',
            fields=[
                ('pk', models.CompositePrimaryKey('trace_id', 'span_id', 'project_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('trace_id', models.BinaryField(max_length=16)),
                ('root_span_id', models.BinaryField(max_length=8)),
                ('span_id', models.BinaryField(max_length=8)),
                ('start_unix_ns', models.BigIntegerField()),
                ('end_unix_ns', models.BigIntegerField()),
                ('wall_ns', models.BigIntegerField()),
                ('transport_ns', models.BigIntegerField(null=True)),
                ('round', models.IntegerField()),
                ('scope', models.SmallIntegerField()),
                ('attempts', models.SmallIntegerField()),
                ('ok', models.BooleanField(null=True)),
                ('abandoned', models.BooleanField()),
                ('pseudo', models.BooleanField()),
                ('agent', models.BooleanField()),
                ('name', models.TextField()),
                ('call_id', models.TextField(null=True)),
                ('error', models.TextField(null=True)),
            ],
            options={
                'db_table': 'ingest_tool',
                'indexes': [models.Index(models.F('trace_id'), name='tool_by_trace'), django.contrib.postgres.indexes.BrinIndex(models.F('end_unix_ns'), autosummarize=True, name='tool_by_end', pages_per_range=16)],
            },
        ),
        migrations.RunSQL(
            # Bodies are compressed already: PostgreSQL need not try again. The queue of dirty traces is small
            # and busy, so it is vacuumed early and has room for updates in place. Calls and tools are replaced
            # by trace under its lock: see ingest/models/run.py for why no unique index guards them.
            sql="""
                ALTER TABLE ingest_chunk ALTER COLUMN body SET STORAGE EXTERNAL;
                ALTER TABLE ingest_body ALTER COLUMN body SET STORAGE EXTERNAL;
                ALTER TABLE ingest_run ALTER COLUMN phases SET STORAGE EXTERNAL;
                ALTER TABLE ingest_call DROP CONSTRAINT ingest_call_pkey;
                ALTER TABLE ingest_tool DROP CONSTRAINT ingest_tool_pkey;
                ALTER TABLE ingest_dirty_trace SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
                    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
            """,
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
