"""Monitoring reads the figures of Sluice's health with a token of its own scope."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_remove_scopes_without_use")]

    operations = [
        migrations.AlterField(
            "token",
            "scope",
            models.CharField(
                choices=[("ingest", "Ingest"), ("enforce", "Enforce"), ("metrics", "Metrics")],
                max_length=10,
            ),
        ),
    ]
