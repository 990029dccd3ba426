"""Which workload is which pod of a cluster, and on which resource a claim lies."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0077_keep_what_clusters_have")]

    operations: ClassVar = [
        migrations.AddField(
            "clusterpod",
            "workload",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="pods",
                to="advisor.workload",
            ),
        ),
        migrations.AddField(
            "clusterclaim",
            "resource",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="claims",
                to="advisor.resource",
            ),
        ),
    ]
