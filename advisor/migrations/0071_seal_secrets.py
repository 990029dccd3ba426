"""Encrypt the secrets of channels and agents; backwards, store them in clear again."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from accounts.sealed_columns import Place, seal_anew, take_seals_off

PLACES = (
    Place(table="advisor_notificationchannel", column="address"),
    Place(table="advisor_notificationchannel", column="secret"),
    Place(table="advisor_enforcer", column="signing_key"),
)


def seal_all(*_):
    for place in PLACES:
        seal_anew(place)


def open_all(*_):
    for place in PLACES:
        take_seals_off(place)


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("advisor", "0070_widen_columns_of_secrets"),
        ("accounts", "0017_mark_answers_sealed"),
    ]

    operations: ClassVar = [migrations.RunPython(seal_all, open_all)]
