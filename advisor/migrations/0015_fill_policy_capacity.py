"""Versions of before tell the capacity that their recommendation divided, where it says so."""

import json
from typing import Any

from django.db import migrations

TRIGGER = "ALTER TABLE advisor_policy {} TRIGGER advisor_policy_is_immutable"


def fill(apps: Any, schema_editor: Any) -> None:
    """A rolled back version has the capacity of the newest earlier one with its allocations."""
    policies = apps.get_model("advisor", "Policy").objects
    schema_editor.execute(TRIGGER.format("DISABLE"))
    known: dict[tuple[int, str], float] = {}
    rows = policies.filter(capacity=None).select_related("recommendation")
    for policy in rows.order_by("resource_id", "version").iterator():
        key = (policy.resource_id, json.dumps(policy.allocations, sort_keys=True))
        capacity = _divided(policy.recommendation) or known.get(key)
        if capacity is not None and policy.allocations:
            known[key] = capacity
            policies.filter(pk=policy.pk).update(capacity=capacity)
    schema_editor.execute(TRIGGER.format("ENABLE"))


def _divided(recommendation: Any) -> float | None:
    """It stands in the evidence of advice, and among the inputs of a draft."""
    if recommendation is None:
        return None
    evidence = json.loads(recommendation.answer).get("evidence") or {}
    capacity = evidence.get("capacity") or json.loads(recommendation.inputs).get("capacity")
    return float(capacity) if capacity else None


class Migration(migrations.Migration):
    dependencies = [("advisor", "0014_add_policy_capacity")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
