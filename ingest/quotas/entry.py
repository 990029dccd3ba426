"""The one place where bodies are admitted and counted, whichever way they come in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from accounts.models import Organisation
from ingest.core.quota.bucket import BURST_S, retry_after_s
from ingest.core.quota.limits import Limits, Quota, QuotaExceededError
from ingest.quotas.hits import HITS
from ingest.quotas.limits import limits_of, used_up
from ingest.quotas.shared_account import SharedAccount
from ingest.quotas.spending import Spending
from ingest.write_queue import NotCommittedError

LEFT_FOR_LIVE_RATIO = 0.5
"""An import takes nothing while less than this part of a minute's points is there."""
IMPORT_RATIO = 0.25
"""A batch of an import has no more than this part of a minute's points."""

UNCOUNTED = (DatabaseError, InterfaceError, NotCommittedError)
"""What says of a body that it was not stored and will be sent again."""

_SHARED = SharedAccount()


@cache
def spending_of(organisation: int) -> Spending:
    """The account of the organisation in this process."""
    return Spending(organisation, _SHARED)


class Use:
    """What one body is charged."""

    def __init__(self, spending: Spending, limits: Limits) -> None:
        self._spending = spending
        self._limits = limits
        self.points = 0
        self.size_bytes = 0

    def add(self, *, points: int = 0, size_bytes: int = 0) -> None:
        """Charge this at once, so that bodies that come meanwhile know of it."""
        self.points += points
        self.size_bytes += size_bytes
        self._spending.use(self._limits, points=points, size_bytes=size_bytes)

    def take_back(self) -> None:
        """Charge nothing: it was not stored, and comes again."""
        self.add(points=-self.points, size_bytes=-self.size_bytes)


def may_be_short(organisation: Organisation) -> bool:
    """Whether `admitted` would raise by what this process knows; asks nobody."""
    limits = limits_of(organisation)
    return spending_of(organisation.pk).known_shortage(limits) is not None


def admitted(organisation: Organisation, *, lost_points: int = 0) -> Use:
    """Let one body of the organisation in, within its quotas of points and bytes.

    Raises `QuotaExceededError` before anything of the body is read; if its sender does not keep
    it, these points are lost then.
    """
    HITS.save_due(organisation, now=timezone.now())
    limits = limits_of(organisation)
    spending = spending_of(organisation.pk)
    shortage = spending.shortage(limits)
    if shortage is not None:
        HITS.note(organisation, shortage.quota, now=timezone.now(), bodies=1, points=lost_points)
        raise QuotaExceededError(
            shortage.quota,
            used_up(organisation, shortage.quota),
            retry_after_s=retry_after_s(
                shortage.wait_s,
                random_part=random.random(),  # noqa: S311  no secret
            ),
        )
    return Use(spending, limits)


@contextmanager
def counted(organisation: Organisation, *, lost_points: int = 0) -> Iterator[Use]:
    """Handle one body as `admitted`; what the database did not take costs nothing."""
    use = admitted(organisation, lost_points=lost_points)
    try:
        yield use
    except UNCOUNTED:
        use.take_back()
        raise


def import_wait_s(organisation: Organisation) -> float:
    """How long an import has to wait, so that it leaves enough for live samples; 0: not at all."""
    limits = limits_of(organisation)
    if Quota.POINTS not in limits:
        return 0.0
    only_points = {Quota.POINTS: limits[Quota.POINTS]}
    shortage = spending_of(organisation.pk).shortage(only_points, keep_ratio=LEFT_FOR_LIVE_RATIO)
    return 0.0 if shortage is None else max(shortage.wait_s, 0.1)


def most_import_points(organisation: Organisation, *, most: int) -> int:
    """How many points a batch of an import may have."""
    rate = limits_of(organisation).get(Quota.POINTS)
    return most if rate is None else max(1, min(most, int(rate * BURST_S * IMPORT_RATIO)))


def count_import(organisation: Organisation, *, points: int) -> None:
    """Charge a batch of an import."""
    spending_of(organisation.pk).use(limits_of(organisation), points=points, size_bytes=0)
