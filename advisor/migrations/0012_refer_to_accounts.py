"""Organisations are those of accounts; the table and its keys are the same as before."""

import django.db.models.deletion
from django.db import migrations, models

RELATED_NAMES = {
    "compliancerecord": "compliance_records",
    "episode": "episodes",
    "plannedjob": "planned_jobs",
    "policy": "policies",
    "recommendation": "recommendations",
    "resource": "resources",
    "workload": "workloads",
}


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_take_over_from_ingest"),
        ("advisor", "0011_add_external_load"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model,
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name=related_name,
                        to="accounts.organisation",
                    ),
                )
                for model, related_name in RELATED_NAMES.items()
            ]
        )
    ]
