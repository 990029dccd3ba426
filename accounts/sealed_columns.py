"""All secrets that are stored sealed, whichever table has them: counted, and sealed anew."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from psycopg import sql

from accounts.models.sealed_text import SealedTextField
from accounts.sealing import MARK, SealedBy, seal, sealed_by, unseal

SECOND_FACTORS = "mfa_authenticator"
"""Of django-allauth: seeds of codes, sealed by its adapter, within JSON."""
OF_SECOND_FACTORS = ("secret", "seed", "migrated_codes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A column whose rows hold sealed secrets."""

    table: str
    column: str
    is_json: bool = False

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


def places() -> list[Place]:
    """Every column with secrets, by name."""
    found = [
        Place(table=model._meta.db_table, column=str(field.column))  # noqa: SLF001  Django documents it
        for model in apps.get_models()
        for field in model._meta.concrete_fields  # noqa: SLF001  the same
        if isinstance(field, SealedTextField)
    ]
    found.append(Place(table=SECOND_FACTORS, column="data", is_json=True))
    return sorted(found, key=str)


def count(place: Place) -> Counter[SealedBy]:
    """How many secrets each kind of key sealed."""
    return Counter(
        sealed_by(secret) for _, value in _rows(place) for secret in _secrets(place, value)
    )


def lost_secrets() -> int:
    """How many secrets no key of this server opens."""
    return sum(count(place)[SealedBy.LOST] for place in places())


@transaction.atomic
def seal_anew(place: Place) -> int:
    """Seal by the newest key what an older one sealed or nobody did; how many secrets it were.

    What no key opens stays as it is.
    """
    changed = 0
    for pk, value in list(_rows(place)):
        new, secrets = _changed(place, value, _by_newest)
        if secrets:
            _write(place, pk, value, new)
            changed += secrets
    return changed


@transaction.atomic
def take_seals_off(place: Place) -> None:
    """Store all in clear again, for a release that knows no seals. Raises Unsealable."""
    for pk, value in list(_rows(place)):
        new, secrets = _changed(place, value, _in_clear)
        if secrets:
            _write(place, pk, value, new)


def _by_newest(secret: str) -> str:
    match sealed_by(secret):
        case SealedBy.NONE:
            return seal(secret)
        case SealedBy.OLDER:
            return seal(unseal(secret))
        case SealedBy.NEWEST | SealedBy.LOST:
            return secret


def _in_clear(secret: str) -> str:
    return unseal(secret) if secret.startswith(MARK) else secret


def _changed(place: Place, value: Any, change: Any) -> tuple[Any, int]:
    """The value of a row with each secret changed, and how many became others."""
    if not place.is_json:
        new = change(value)
        return new, int(new != value)
    data, changed = dict(json.loads(value)), 0
    for key in OF_SECOND_FACTORS:
        if isinstance(data.get(key), str):
            new = change(data[key])
        elif isinstance(data.get(key), list):
            new = [change(one) for one in data[key]]
        else:
            continue
        changed += new != data[key]
        data[key] = new
    return json.dumps(data), changed


def _secrets(place: Place, value: Any) -> Sequence[str]:
    if not place.is_json:
        return [value]
    data = json.loads(value)
    found = [data[key] for key in OF_SECOND_FACTORS if key in data]
    return [one for each in found for one in ([each] if isinstance(each, str) else each)]


def _rows(place: Place) -> Iterator[tuple[int, str]]:
    query = sql.SQL(
        "SELECT id, {column}::text FROM {table} WHERE {column}::text <> '' ORDER BY id"
    )
    with connection.cursor() as cursor:
        cursor.execute(query.format(**_names(place)))
        yield from cursor.fetchall()


def _write(place: Place, pk: int, before: str, after: str) -> None:
    """Unless somebody else changed it meanwhile."""
    query = sql.SQL(
        "UPDATE {table} SET {column} = %s WHERE id = %s AND {column}::text = %s"
        if not place.is_json
        else "UPDATE {table} SET {column} = %s::jsonb WHERE id = %s AND {column}::text = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(query.format(**_names(place)), [after, pk, before])


def _names(place: Place) -> dict[str, sql.Identifier]:
    return {"table": sql.Identifier(place.table), "column": sql.Identifier(place.column)}
