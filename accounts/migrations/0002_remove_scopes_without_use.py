"""The scopes `read` and `write` opened nothing: tokens that have them go, and no more are made."""

from typing import Any

from django.db import migrations, models


def remove(apps: Any, schema_editor: Any) -> None:
    apps.get_model("accounts", "Token").objects.filter(scope__in=["read", "write"]).delete()


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_take_over_from_ingest")]

    operations = [
        migrations.RunPython(remove, migrations.RunPython.noop),
        migrations.AlterField(
            "token",
            "scope",
            models.CharField(
                choices=[("ingest", "Ingest"), ("enforce", "Enforce")], max_length=10
            ),
        ),
    ]
