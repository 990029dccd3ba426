"""Public keys of agents: of their documents, and of their reports."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

import advisor.models.agent_key


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0018_seal_answers_and_second_factors"),
        ("advisor", "0071_seal_secrets"),
        ("ingest", "0026_add_host_joins"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="AgentKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "salt",
                    models.CharField(default=advisor.models.agent_key.new_salt, max_length=32),
                ),
                ("public_key", models.CharField(max_length=64)),
                ("report_key", models.CharField(max_length=64)),
                ("newest_number", models.BigIntegerField(default=0)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="agent_keys", to="ingest.host"
                    ),
                ),
                (
                    "token",
                    models.OneToOneField(
                        on_delete=models.CASCADE, related_name="agent_key", to="accounts.token"
                    ),
                ),
            ],
            options={"ordering": ["host", "pk"]},
        ),
    ]
