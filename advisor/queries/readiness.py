"""Whether requests can be served, and whether states are fresh, over all organisations.

These answers are given to anybody who asks, so they name nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F, Min, Q
from django.db.models.functions import Coalesce

from advisor.core.freshness import STALE_AFTER
from advisor.models import Resource
from advisor.pipeline import work_figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What requests need: empty where it is there, otherwise what is wrong."""

    database: str
    migrations: str
    queue: str

    @property
    def is_ready(self) -> bool:
        return not (self.database or self.migrations or self.queue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """Resources in all, those not evaluated for two minutes, and the oldest evaluation.

    `oldest_s` is None while nothing was evaluated.
    """

    resources: int
    stale: int
    oldest_s: float | None


def readiness() -> Readiness:
    """What is missing to serve requests at this moment."""
    queue = "" if work_figures.answers() else "the queue's server does not answer"
    try:
        missing = _missing_migrations()
    except (OperationalError, InterfaceError):
        silent = "the database does not answer"
        return Readiness(database=silent, migrations=silent, queue=queue)
    said = f"{missing} missing; run: sluice migrate" if missing else ""
    return Readiness(database="", migrations=said, queue=queue)


def staleness(*, now: datetime) -> Staleness:
    """How old the states of all resources are."""
    # A resource that was added just now has had no time to be evaluated.
    rows = Resource.objects.annotate(known_at=Coalesce("status__looked_at", F("created_at")))
    is_late = Q(known_at__lt=now - STALE_AFTER)
    oldest = rows.aggregate(oldest=Min("status__looked_at"))["oldest"]
    return Staleness(
        resources=rows.count(),
        stale=rows.filter(is_late).count(),
        oldest_s=None if oldest is None else (now - oldest).total_seconds(),
    )


def _missing_migrations() -> int:
    """How many of this version's migrations the database does not have."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    return len(_own_migrations() - applied)


@cache
def _own_migrations() -> frozenset[tuple[str, str]]:
    """The migrations of this version; they are files, so they stay the same in a process."""
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations or {})
