"""Claims that are given another VolumeAttributesClass where a person approves it."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

STATES = [(one, one.capitalize()) for one in ("waiting", "running", "checking", "done", "failed")]


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0018_seal_answers_and_second_factors"),
        ("advisor", "0078_say_where_claims_lie"),
    ]

    operations: ClassVar = [
        migrations.AddField(
            "readsource",
            "class_rates",
            models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.CreateModel(
            name="ClassChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("workload", models.CharField(max_length=200)),
                ("uid", models.CharField(max_length=64)),
                ("namespace", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("limit", models.FloatField(null=True)),
                ("former", models.CharField(blank=True, max_length=253)),
                ("wanted", models.CharField(blank=True, max_length=253)),
                ("state", models.CharField(choices=STATES, default="waiting", max_length=10)),
                ("asked_at", models.DateTimeField()),
                ("asked_by", models.CharField(max_length=150)),
                ("look_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("said", models.TextField(blank=True, default="")),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="class_changes",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "recommendation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="class_changes",
                        to="advisor.recommendation",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="changes",
                        to="advisor.readsource",
                    ),
                ),
                (
                    "undoes",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="undone_by",
                        to="advisor.classchange",
                    ),
                ),
            ],
            options={"ordering": ["recommendation", "pk"]},
        ),
        migrations.AddConstraint(
            "classchange",
            models.UniqueConstraint(
                condition=models.Q(("state__in", ("waiting", "running", "checking"))),
                fields=("source", "uid"),
                name="claim_has_one_open_change",
            ),
        ),
    ]
