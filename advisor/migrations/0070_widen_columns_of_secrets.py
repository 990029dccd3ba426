"""A sealed secret is longer than the secret; an agent with keys of its own shares none."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from accounts.models.sealed_text import SealedTextField


class Migration(migrations.Migration):
    dependencies: ClassVar = [("advisor", "0069_add_vcenter_sources")]

    operations: ClassVar = [
        migrations.AlterField("notificationchannel", "address", SealedTextField()),
        migrations.AlterField(
            "notificationchannel", "secret", SealedTextField(blank=True, default="")
        ),
        migrations.AlterField("enforcer", "signing_key", SealedTextField(blank=True, default="")),
    ]
