from django.db import migrations


class Migration(migrations.Migration):
    """Hours, and plain steps. Forgetting by which zone the days were summed makes the next fold add them up."""

    dependencies = [
        ('ingest', '0005_rollups'),
    ]

    operations = [
        migrations.RunSQL("DELETE FROM ingest_rollup_zone", reverse_sql=migrations.RunSQL.noop),
    ]
