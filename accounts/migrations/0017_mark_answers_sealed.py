"""Answers that are kept may hold a secret that is shown once."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from accounts.models.sealed_text import SealedTextField


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0016_add_tour_of_the_sample")]

    operations: ClassVar = [
        migrations.AlterField("keptanswer", "body", SealedTextField(blank=True)),
    ]
