"""Delete organisations whose time has come, a part at a time."""

from __future__ import annotations

import time
from datetime import datetime

from django.db import transaction

from accounts.models import Organisation, Token
from advisor.history.stored.partitions import drop_organisation
from ingest.models import Series

SERIES_AT_A_TIME = 200
"""With their samples, which may be some thousands each."""


def organisations_to_delete(*, now: datetime) -> list[int]:
    """Those whose time has come, the oldest first."""
    due = Organisation.objects.filter(deletion_due_at__lte=now).order_by("deletion_due_at", "pk")
    return list(due.values_list("pk", flat=True))


def delete_organisation(organisation: Organisation, *, now: datetime, limit_s: float) -> bool:
    """Delete for about so long; whether nothing is left. Its people keep their accounts.

    Tokens go first, so that nothing new comes in and no agent gets a new lease: hosts then go
    back to what they had before.
    """
    end_s = time.monotonic() + limit_s
    tokens = Token.objects.filter(organisation=organisation, revoked_at=None)
    tokens.update(revoked_at=now)
    while numbers := _some(organisation):
        Series.objects.filter(pk__in=numbers).delete()
        if time.monotonic() > end_s:
            return False
    drop_organisation(organisation.pk)
    with transaction.atomic():
        # Who writes for it waits, or ends with an error that names it as gone.
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        organisation.delete()
    return True


def _some(organisation: Organisation) -> list[int]:
    rows = Series.objects.filter(organisation=organisation).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:SERIES_AT_A_TIME])
