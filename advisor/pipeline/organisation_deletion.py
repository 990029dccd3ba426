"""Delete organisations whose time has come, a part at a time, with the rights of a worker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from graphlib import TopologicalSorter
from typing import Any

from django.db import connection, models
from django.db.models import QuerySet

from accounts.models import Organisation
from accounts.services.export import paths_to_organisation
from advisor.history.stored.partitions import drop_organisation
from ingest.models import Series

APPS = ("advisor", "ingest")
SERIES_AT_A_TIME = 200
"""With their samples, which may be some thousands each."""
ROWS_AT_A_TIME = 5_000


def organisations_to_delete(*, now: datetime) -> list[int]:
    """Those whose time has come, the oldest first."""
    due = Organisation.objects.filter(deletion_due_at__lte=now).order_by("deletion_due_at", "pk")
    return list(due.values_list("pk", flat=True))


def delete_organisation(number: int, *, limit_s: float) -> bool:
    """Delete for about so long; whether nothing is left. Its people keep their accounts.

    Tokens end first, so that nothing new comes in and no agent gets a new lease: hosts then go
    back to what they had before.
    """
    end_s = time.monotonic() + limit_s
    _call("accounts_close_organisation", number)
    for rows, size in _parts(number):
        while _delete_some(rows, size):
            if time.monotonic() > end_s:
                return False
    drop_organisation(number)
    _call("accounts_delete_organisation", number)
    return True


def _parts(number: int) -> Iterator[tuple[QuerySet[Any], int]]:
    """Series with their samples, then the rows of each table before those that they refer to."""
    yield Series.objects.filter(organisation=number), SERIES_AT_A_TIME
    paths = {model: path for model, path in paths_to_organisation().items() if _is_own(model)}
    order = TopologicalSorter({model: set[type[models.Model]]() for model in paths})
    for model in paths:
        for field in model._meta.concrete_fields:  # noqa: SLF001  # Django's interface.
            parent = field.related_model
            # A row may refer to an earlier one of its table, which goes after it.
            if isinstance(parent, type) and parent in paths and parent is not model:
                order.add(parent, model)
    for model in order.static_order():
        yield model._base_manager.filter(**{paths[model]: number}), ROWS_AT_A_TIME  # noqa: SLF001


def _is_own(model: type[models.Model]) -> bool:
    """Not samples, which go with their series, nor the history, whose partitions are dropped."""
    return model._meta.app_label in APPS and model._meta.managed  # noqa: SLF001


def _delete_some(rows: QuerySet[Any], size: int) -> int:
    """The newest of the rows."""
    found = list(rows.order_by("-pk").values_list("pk", flat=True)[:size])
    if not found:
        return 0
    some = rows.model._base_manager.filter(pk__in=found)  # noqa: SLF001
    if rows.model is Series:
        some.delete()
    else:
        # Nothing refers to them any more, so nothing is looked for.
        some._raw_delete(some.db)  # noqa: SLF001
    return len(found)


def _call(function: str, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])
