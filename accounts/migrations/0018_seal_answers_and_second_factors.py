"""Encrypt what was stored in clear; backwards, store it in clear again."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations

from accounts.sealed_columns import SECOND_FACTORS, Place, seal_anew, take_seals_off

PLACES = (
    Place(table="accounts_keptanswer", column="body"),
    Place(table=SECOND_FACTORS, column="data", is_json=True),
)


def seal_all(*_):
    for place in PLACES:
        seal_anew(place)


def open_all(*_):
    for place in PLACES:
        take_seals_off(place)


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("accounts", "0017_mark_answers_sealed"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations: ClassVar = [migrations.RunPython(seal_all, open_all)]
