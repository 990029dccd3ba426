"""The name of an allocation on the wire as a column: the database computes it."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.models import Value
from django.db.models.functions import Cast, Concat


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0072_add_agent_keys")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="allocation",
            name="wire_name",
            field=models.GeneratedField(
                db_persist=True,
                expression=Concat(Value("allocation-"), Cast("id", models.CharField())),
                output_field=models.CharField(max_length=32),
            ),
        ),
    ]
