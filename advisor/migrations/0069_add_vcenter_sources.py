"""vCenters that are read again and again."""

from __future__ import annotations

from typing import ClassVar

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

from accounts.models.sealed_text import SealedTextField


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0016_add_tour_of_the_sample"),
        ("advisor", "0068_keep_the_cause_of_incidents"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="VcenterSource",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("address", models.CharField(max_length=300)),
                ("user", models.CharField(max_length=200)),
                ("password", SealedTextField()),
                ("fingerprint", models.CharField(blank=True, default="", max_length=64)),
                ("authority", models.TextField(blank=True, default="", max_length=20000)),
                (
                    "every_min",
                    models.PositiveIntegerField(
                        default=60,
                        validators=[
                            django.core.validators.MinValueValidator(5),
                            django.core.validators.MaxValueValidator(10080),
                        ],
                    ),
                ),
                ("takes_over", models.BooleanField(default=False)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
                ("next_at", models.DateTimeField()),
                ("began_at", models.DateTimeField(blank=True, null=True)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                ("failures", models.PositiveIntegerField(default=0, help_text="In a row")),
                ("says", models.CharField(blank=True, default="", max_length=1000)),
                ("trial_asked_at", models.DateTimeField(blank=True, null=True)),
                ("trial_at", models.DateTimeField(blank=True, null=True)),
                ("trial_worked", models.BooleanField(null=True)),
                ("trial_says", models.CharField(blank=True, default="", max_length=1000)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vcenter_sources",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={"ordering": ["organisation", "name"]},
        ),
        migrations.AddIndex(
            "vcentersource",
            models.Index(
                condition=models.Q(("paused_at", None), ("removed_at", None)),
                fields=["next_at"],
                name="source_to_read",
            ),
        ),
        migrations.AddConstraint(
            "vcentersource",
            models.UniqueConstraint(
                condition=models.Q(("removed_at", None)),
                fields=("organisation", "name"),
                name="source_name_is_unique",
            ),
        ),
    ]
