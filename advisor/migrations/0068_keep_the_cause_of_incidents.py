"""An incident keeps whom the study of its cause accuses."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0067_count_windows_of_other_load")]

    operations: ClassVar = [
        migrations.AddField(
            "incident",
            "cause",
            models.JSONField(help_text="Whom the newest study accuses, and why", null=True),
        ),
        migrations.AddField("incident", "cause_found_at", models.DateTimeField(null=True)),
    ]
