"""Room for the name of the longest host and device that ingest accepts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0016_remove_unproven_scores")]

    operations = [
        migrations.AlterField("resource", "name", models.CharField(max_length=509)),
    ]
