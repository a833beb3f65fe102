import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from ingest.partitioned_model import CreatePartitionedModel


class Migration(migrations.Migration):
    """Engines that are scraped, and their samples by day of receipt."""

    dependencies = [
        ('ingest', '0007_promoted_runs'),
    ]

    operations = [
        CreatePartitionedModel(
            name='EngineFailure',
            fields=[
                ('pk', models.CompositePrimaryKey('target_id', 'at_unix_ns', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('at_unix_ns', models.BigIntegerField()),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('target_id', models.IntegerField()),
                ('took_ms', models.IntegerField()),
                ('reason', models.CharField(max_length=40)),
                ('detail', models.CharField(max_length=400)),
            ],
            options={
                'db_table': 'ingest_engine_failure',
            },
        ),
        migrations.CreateModel(
            name='EngineLayout',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('digest', models.BinaryField(max_length=16, unique=True)),
                ('body', models.TextField()),
            ],
            options={
                'db_table': 'ingest_engine_layout',
            },
        ),
        CreatePartitionedModel(
            name='EngineMinute',
            fields=[
                ('pk', models.CompositePrimaryKey('target_id', 'at_unix_ns', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('at_unix_ns', models.BigIntegerField()),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('target_id', models.IntegerField()),
                ('layout_id', models.IntegerField()),
                ('stretch', models.IntegerField()),
                ('took_ms', models.IntegerField()),
                ('running', models.FloatField(null=True)),
                ('waiting', models.FloatField(null=True)),
                ('kv_usage', models.FloatField(null=True)),
                ('breaks', models.CharField(default='', max_length=8)),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_engine_minute',
            },
        ),
        CreatePartitionedModel(
            name='EngineSample',
            fields=[
                ('pk', models.CompositePrimaryKey('target_id', 'at_unix_ns', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('at_unix_ns', models.BigIntegerField()),
                ('day', models.DateField()),
                ('project_id', models.IntegerField()),
                ('target_id', models.IntegerField()),
                ('layout_id', models.IntegerField()),
                ('stretch', models.IntegerField()),
                ('took_ms', models.IntegerField()),
                ('running', models.FloatField(null=True)),
                ('waiting', models.FloatField(null=True)),
                ('kv_usage', models.FloatField(null=True)),
                ('breaks', models.CharField(default='', max_length=8)),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_engine_sample',
            },
        ),
        migrations.CreateModel(
            name='EngineTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('url', models.CharField(blank=True, default='', max_length=2000)),
                ('kind', models.CharField(default='auto', max_length=20)),
                ('labels', models.JSONField(blank=True, default=dict)),
                ('interval_ms', models.IntegerField(default=5000)),
                ('timeout_ms', models.IntegerField(default=4000)),
                ('credentials', models.BinaryField(blank=True, null=True)),
                ('tls', models.JSONField(blank=True, default=dict)),
                ('enabled', models.BooleanField(default=True)),
                ('origin', models.CharField(choices=[('page', 'Page'), ('api', 'Api'), ('file', 'File'), ('otlp', 'Otlp')], default='page', max_length=8)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('due_unix_ns', models.BigIntegerField(default=0)),
                ('claimed_until_unix_ns', models.BigIntegerField(default=0)),
                ('stretch', models.IntegerField(default=0)),
                ('seen_kind', models.CharField(blank=True, default='', max_length=20)),
                ('seen_models', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('sample_unix_ns', models.BigIntegerField(blank=True, null=True)),
                ('scraped_unix_ns', models.BigIntegerField(blank=True, null=True)),
                ('failing_since_unix_ns', models.BigIntegerField(blank=True, null=True)),
                ('failures', models.IntegerField(default=0)),
                ('reason', models.CharField(blank=True, default='', max_length=40)),
                ('detail', models.CharField(blank=True, default='', max_length=400)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='engine_targets', to='ingest.project')),
            ],
            options={
                'db_table': 'ingest_engine_target',
                'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='engine_target_once')],
            },
        ),
        migrations.RunSQL(
            # What is packed need not be compressed again. A target's row is rewritten at each scrape: room in place.
            sql="""
                ALTER TABLE ingest_engine_sample ALTER COLUMN body SET STORAGE EXTERNAL;
                ALTER TABLE ingest_engine_minute ALTER COLUMN body SET STORAGE EXTERNAL;
                ALTER TABLE ingest_engine_target SET (fillfactor = 50);
            """,
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
