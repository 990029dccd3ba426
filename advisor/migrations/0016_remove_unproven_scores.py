"""A score counts only if a host's report proves that the policy was applied."""

from typing import Any

from django.db import migrations

HELD = ("applied", "unchanged", "drifted")


def remove(apps: Any, schema_editor: Any) -> None:
    records = apps.get_model("advisor", "ComplianceRecord").objects
    proven = records.filter(outcome__in=HELD, applied__isnull=False).exclude(
        policy__recommendation=None
    )
    scores = apps.get_model("advisor", "PredictionScore").objects
    scores.exclude(
        recommendation__in=proven.order_by().values("policy__recommendation")
    ).delete()


class Migration(migrations.Migration):
    dependencies = [("advisor", "0015_fill_policy_capacity")]

    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]
