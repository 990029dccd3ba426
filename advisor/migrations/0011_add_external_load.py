"""Load that none of our hosts sends: what it is concluded from, and the conclusion."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0010_add_congestion_signs")]

    operations = [
        migrations.AddField(
            "statepoint",
            "device_load",
            models.FloatField(
                null=True,
                blank=True,
                help_text="Our own I/Os a second in device time, as I/Os of the reference size",
            ),
        ),
        migrations.AddField(
            "episode",
            "external",
            models.JSONField(
                null=True, help_text="Whether load from outside is seen, and what says so"
            ),
        ),
    ]
