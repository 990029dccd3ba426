"""Read a source that is due, and say on its row what was found, or why nothing was.

A source is taken by moving its next time ahead, so two workers do not read the same one, and one
that ends a worker does not end the next at once.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.sealing import Unsealable
from advisor.decisions.kubernetes import live as kubernetes
from advisor.decisions.kubernetes.class_runner import due_changes, put_off
from advisor.decisions.sources.stating import allowed_addresses
from advisor.decisions.vcenter import live as vcenter
from advisor.errors import AdvisorError
from advisor.models import ReadSource
from advisor.models.source import LONGEST_SAID, SourceKind
from ingest.core.source_errors import SourceError
from ingest.imports.connection import Trust, Way
from ingest.imports.reachable import address_to_reach

log = logging.getLogger(__name__)

READ_LIMIT_S = 120.0
"""Of all requests together; a vCenter of 10,000 machines answers in 50 pages."""
TRIAL_LIMIT_S = 8.0
LONGEST_WAIT = timedelta(days=1)
"""One that cannot be read is tried ever less often, down to this."""


def due_sources(*, now: datetime) -> QuerySet[ReadSource]:
    """Those to be read or tested, and those where a class is to be changed or looked at."""
    to_read = Q(paused_at=None, next_at__lte=now)
    to_test = Q(trial_asked_at__isnull=False) & (
        Q(trial_at=None) | Q(trial_at__lt=F("trial_asked_at"))
    )
    to_change = Q(paused_at=None) & Exists(due_changes(now=now).filter(source=OuterRef("pk")))
    return ReadSource.objects.filter(to_read | to_test | to_change, removed_at=None)


def read_where_due(source_id: int, *, now: datetime) -> None:
    """Test, change and read a source, whichever is asked for or due; safe to run twice."""
    row = due_sources(now=now).select_related("organisation").filter(pk=source_id).first()
    if row is None:
        return
    if row.is_tried:
        try_now(row, now=now)
    if row.paused_at is None and row.kind == SourceKind.KUBERNETES:
        _change(row, now)
    if row.paused_at is None and row.next_at <= now:
        _read(row, now)


def try_now(row: ReadSource, *, now: datetime) -> None:
    """Connect and log in, and say on the row what came of it."""
    try:
        says, worked = _greeting(row), True
    except (SourceError, Unsealable) as error:
        says, worked = str(error), False
    ReadSource.objects.filter(pk=row.pk, trial_asked_at=row.trial_asked_at).update(
        trial_at=max(now, row.trial_asked_at or now), trial_worked=worked, trial_says=_short(says)
    )


def _change(row: ReadSource, now: datetime) -> None:
    """Give claims their classes, as far as it can be reached."""
    if not due_changes(now=now).filter(source=row).exists():
        return
    try:
        kubernetes.change(row, _way(row, READ_LIMIT_S), now=now)
    except (SourceError, Unsealable) as error:
        put_off(row, str(error), now=now)


def _greeting(row: ReadSource) -> str:
    way = _way(row, TRIAL_LIMIT_S)
    match SourceKind(row.kind):
        case SourceKind.VCENTER:
            return vcenter.greeting(row, way)
        case SourceKind.KUBERNETES:
            return kubernetes.greeting(row, way)
        case kind:
            assert_never(kind)


def _read(row: ReadSource, now: datetime) -> None:
    every = timedelta(minutes=row.every_min)
    taken = ReadSource.objects.filter(
        pk=row.pk, next_at=row.next_at, paused_at=None, removed_at=None
    )
    if not taken.update(next_at=now + every, began_at=now):
        return
    try:
        says = _found(row, now)
    except (SourceError, Unsealable, AdvisorError) as error:
        _failed(row, str(error), now)
    except Exception as error:
        # Also the limit of its time.
        _failed(row, f"it ended with an error: {type(error).__name__}", now)
        raise
    else:
        _done(row, now, read_at=now, failures=0, says=_short(says))


def _found(row: ReadSource, now: datetime) -> str:
    """What was read and taken over, in words."""
    way = _way(row, READ_LIMIT_S)
    match SourceKind(row.kind):
        case SourceKind.VCENTER:
            return vcenter.read(row, way, now=now)
        case SourceKind.KUBERNETES:
            return kubernetes.read(row, way, now=now)
        case kind:
            assert_never(kind)


def _way(row: ReadSource, limit_s: float) -> Way:
    return Way(
        trust=Trust(fingerprint=row.fingerprint, authority=row.authority),
        choose=partial(address_to_reach, allowed=allowed_addresses()),
        limit_s=limit_s,
    )


def _failed(row: ReadSource, reason: str, now: datetime) -> None:
    failures = row.failures + 1
    every = timedelta(minutes=row.every_min)
    wait = max(min(every * 2 ** min(failures, 12), LONGEST_WAIT), every)
    log.info("source not read", extra={"source": row.pk, "reason": reason})
    _done(row, now, failures=failures, says=_short(reason), next_at=now + wait)


def _done(row: ReadSource, now: datetime, **columns: object) -> None:
    """Unless it was stated anew or resumed meanwhile: then it is read again at once."""
    rows = ReadSource.objects.filter(pk=row.pk, began_at=now)
    as_taken = rows.filter(next_at=now + timedelta(minutes=row.every_min))
    if not as_taken.update(began_at=None, **columns):
        rows.update(began_at=None)


def _short(text: str) -> str:
    found = " ".join(text.split())
    return found if len(found) <= LONGEST_SAID else f"{found[: LONGEST_SAID - 1]}…"
