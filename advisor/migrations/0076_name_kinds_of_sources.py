"""Sources are vCenters or Kubernetes clusters; the table keeps its name."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0018_seal_answers_and_second_factors"),
        ("advisor", "0075_note_what_documents_are_made_of"),
    ]

    operations: ClassVar = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("VcenterSource", "ReadSource"),
                migrations.AlterModelTable("readsource", "advisor_vcentersource"),
                migrations.AlterField(
                    "readsource",
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="accounts.organisation",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            "readsource",
            "kind",
            models.CharField(
                choices=[("vcenter", "vCenter"), ("kubernetes", "Kubernetes")],
                db_default="vcenter",
                default="vcenter",
                max_length=20,
            ),
        ),
        migrations.AddField(
            "readsource",
            "tier_label",
            models.CharField(blank=True, db_default="", default="", max_length=317),
        ),
        migrations.AddField(
            "readsource",
            "kept_at",
            models.DateTimeField(blank=True, null=True),
        ),
    ]
