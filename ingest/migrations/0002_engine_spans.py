import django.contrib.postgres.indexes
from django.db import migrations, models

from ingest.partitioned_model import CreatePartitionedModel


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0001_initial'),
    ]

    operations = [
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
            },
        ),
        migrations.AddIndex(
            model_name='call',
            index=django.contrib.postgres.indexes.HashIndex(models.F('response_id'), condition=models.Q(('response_id__isnull', False)), name='call_by_response'),
        ),
        migrations.AddIndex(
            model_name='enginespan',
            index=models.Index(models.F('due_unix_ns'), condition=models.Q(('client_trace_id', None)), name='engine_span_due'),
        ),
        migrations.AddIndex(
            model_name='enginespan',
            index=models.Index(models.F('trace_id'), name='engine_span_trace'),
        ),
    ]
