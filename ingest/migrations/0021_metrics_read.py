from django.db import migrations, models


class Migration(migrations.Migration):
    """Which bodies have been read into engines' series. What was stored before counts as read: it is old news."""

    dependencies = [
        ('ingest', '0020_engines'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField('body', 'seen', models.BooleanField(default=False, db_default=False)),
                migrations.AddIndex('body', models.Index('received_unix_ns', name='body_unseen', condition=models.Q(seen=False, signal=2))),
            ],
            database_operations=[
                migrations.RunSQL(
                    # A constant default rewrites no row.
                    sql="""
                        ALTER TABLE ingest_body ADD COLUMN seen boolean NOT NULL DEFAULT true;
                        ALTER TABLE ingest_body ALTER COLUMN seen SET DEFAULT false;
                        CREATE INDEX body_unseen ON ingest_body (received_unix_ns) WHERE NOT seen AND signal = 2;
                    """,
                    reverse_sql="ALTER TABLE ingest_body DROP COLUMN seen;",
                ),
            ],
        ),
    ]
