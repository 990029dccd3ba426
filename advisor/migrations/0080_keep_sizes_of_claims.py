"""How much the volume of a claim holds, as its cluster says."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0079_change_classes_of_claims")]

    operations: ClassVar = [
        migrations.AddField(
            "clusterclaim", "size_bytes", models.BigIntegerField(blank=True, null=True)
        ),
    ]
