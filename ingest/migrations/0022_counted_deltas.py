from django.db import migrations, models


class Migration(migrations.Migration):
    """Deltas that several passes' values were counted into. A constant default rewrites no row."""

    dependencies = [
        ('ingest', '0021_metrics_read'),
    ]

    operations = [
        migrations.AddField('rollupdelta', 'counted', models.BooleanField(default=False, db_default=False)),
    ]
