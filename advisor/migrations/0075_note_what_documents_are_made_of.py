"""From which rows a host's newest document was composed."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0074_index_reports_by_host")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="enforcer",
            name="composed_of",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
    ]
