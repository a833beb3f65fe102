
import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    """Numbers over time. What is stored already is counted once, by ``manage.py prepare``."""

    dependencies = [
        ('ingest', '0004_observing'),
    ]

    operations = [
        migrations.CreateModel(
            name='Rollup',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'step', 'kind', 'start_unix_ns', 'key_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('start_unix_ns', models.BigIntegerField()),
                ('project_id', models.IntegerField()),
                ('key_id', models.IntegerField()),
                ('step', models.SmallIntegerField()),
                ('kind', models.SmallIntegerField()),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_rollup',
            },
        ),
        migrations.CreateModel(
            name='RollupAdmitted',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'day', 'kind', blank=True, editable=False, primary_key=True, serialize=False)),
                ('project_id', models.IntegerField()),
                ('day', models.BigIntegerField()),
                ('kind', models.SmallIntegerField()),
                ('key_ids', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('full', models.BooleanField(default=False)),
            ],
            options={
                'db_table': 'ingest_rollup_admitted',
            },
        ),
        migrations.CreateModel(
            name='RollupDelta',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('project_id', models.IntegerField()),
                ('first_minute', models.BigIntegerField()),
                ('last_minute', models.BigIntegerField()),
                ('body', models.BinaryField()),
            ],
            options={
                'db_table': 'ingest_rollup_delta',
            },
        ),
        migrations.CreateModel(
            name='RollupGone',
            fields=[
                ('id', models.SmallIntegerField(primary_key=True, serialize=False)),
                ('day', models.DateField()),
            ],
            options={
                'db_table': 'ingest_rollup_gone',
            },
        ),
        migrations.CreateModel(
            name='RollupZone',
            fields=[
                ('project_id', models.IntegerField(primary_key=True, serialize=False)),
                ('zone', models.CharField(max_length=64)),
            ],
            options={
                'db_table': 'ingest_rollup_zone',
            },
        ),
        migrations.CreateModel(
            name='RollupKey',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('project_id', models.IntegerField()),
                ('digest', models.BinaryField(max_length=16)),
                ('fields', models.TextField()),
            ],
            options={
                'db_table': 'ingest_rollup_key',
                'constraints': [models.UniqueConstraint(fields=('project_id', 'digest'), name='rollup_key_once')],
            },
        ),
        migrations.RunSQL(
            # A delta lives for seconds: compressing it would cost more than its bytes. Rollups of the present step
            # are rewritten every few seconds: room for that in place.
            sql="""
                ALTER TABLE ingest_rollup_delta ALTER COLUMN body SET STORAGE EXTERNAL;
                ALTER TABLE ingest_rollup_delta SET (autovacuum_vacuum_scale_factor = 0,
                                                     autovacuum_vacuum_threshold = 500);
                ALTER TABLE ingest_rollup SET (fillfactor = 80);
            """,
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
