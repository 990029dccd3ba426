"""A score counts the windows that its prediction is not compared with; older scores do not know."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0066_add_saved_views")]

    operations: ClassVar = [
        migrations.AddField("predictionscore", name, models.PositiveIntegerField(null=True))
        for name in ("held_back_windows", "less_load_windows", "unknown_load_windows")
    ]
