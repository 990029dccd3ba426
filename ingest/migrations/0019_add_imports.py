"""Files that were imported, and parts of files that browsers sent."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_add_metrics_scope"),
        ("ingest", "0018_add_facts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("answers", models.JSONField(default=dict)),
                ("is_shifted", models.BooleanField(default=False)),
                ("shift_s", models.BigIntegerField(null=True)),
                ("problem", models.TextField(blank=True)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["organisation", "-started_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                ("said", models.TextField(blank=True)),
                ("size_bytes", models.PositiveBigIntegerField()),
                ("format", models.CharField(blank=True, max_length=20)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("question", "Question"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("unknown", "Unknown"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("position", models.PositiveBigIntegerField(default=0)),
                ("accepted", models.PositiveBigIntegerField(default=0)),
                ("ignored", models.PositiveBigIntegerField(default=0)),
                ("rejected", models.PositiveBigIntegerField(default=0)),
                ("too_old", models.PositiveBigIntegerField(default=0)),
                ("changed_rows", models.PositiveBigIntegerField(default=0)),
                ("first_at", models.DateTimeField(null=True)),
                ("last_at", models.DateTimeField(null=True)),
                ("hosts", models.JSONField(default=list)),
                ("refusals", models.JSONField(default=list)),
                ("shift_s", models.BigIntegerField(default=0)),
                ("problem", models.TextField(blank=True)),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.organisation",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="ingest.importrun",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "name", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organisation", "digest", "said"), name="content_is_imported_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UploadedPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file", models.PositiveIntegerField()),
                ("name", models.TextField()),
                ("number", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="ingest.importrun",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "file", "number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "file", "number"), name="uploaded_part_is_unique"
                    )
                ],
            },
        ),
    ]
