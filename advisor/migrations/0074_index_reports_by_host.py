"""The newest report of a host is found by an index; it is made while the table is used."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # PostgreSQL makes no index so within a transaction.
    atomic = False
    dependencies: ClassVar = [("advisor", "0073_name_allocations_on_the_wire")]

    operations: ClassVar = [
        AddIndexConcurrently(
            model_name="compliancerecord",
            index=models.Index(fields=["host", "-reported_at"], name="compliance_of_host"),
        ),
    ]
