"""The capacity that a policy version divides, and why a prediction has no score."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0013_add_stalled_state")]

    operations = [
        migrations.AddField(
            "policy",
            "capacity",
            models.FloatField(
                null=True,
                blank=True,
                help_text="What its recommendation divided, in the resource's unit",
            ),
        ),
        migrations.AddField(
            "recommendation",
            "score_gap",
            models.TextField(
                blank=True,
                default="",
                help_text="Why its prediction could not be scored at the last look",
            ),
        ),
    ]
