"""New series and hosts within the quotas, looked at only where a body brings new ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from threading import Lock

from django.utils import timezone

from accounts.models import Organisation
from ingest.core.batch import Batch
from ingest.core.mapping import SeriesKey
from ingest.core.quota.left_out import without_series
from ingest.core.quota.limits import Limits, Quota, QuotaExceededError
from ingest.core.quota.room import Room, refused_series
from ingest.models import Host, Series
from ingest.quotas.hits import HITS
from ingest.quotas.limits import limits_of, used_up
from ingest.retention import retention

HELD_RETRY_S = 300
"""When a host for which there is no room tries again: somebody has to make room first."""
_COUNT_HOLDS_S = 60.0
_FRESH_S = 1.0
_TIGHT_RATIO = 0.1
_COUNTING_RATIO = 0.02
"""Counting takes no more than this part of the time."""


class OverQuota(StrEnum):
    """What becomes of a body with series for which there is no room.

    `hold`: one of a single host that is new waits at its sender, others are stored without them;
    `refuse`: every one is stored without them; `fail`: nothing of it is stored.
    """

    HOLD = "hold"
    REFUSE = "refuse"
    FAIL = "fail"


class SeriesOverQuotaError(Exception):
    """There is no room for some new series, and none was made; `hosts` are refused as a whole."""

    def __init__(self, refused: Mapping[SeriesKey, Quota], hosts: Collection[str]) -> None:
        super().__init__(f"there is no room for {len(refused)} series")
        self.refused = refused
        self.hosts = hosts


def check_new_series(organisation: Organisation, new: Sequence[SeriesKey]) -> None:
    """Raise `SeriesOverQuotaError` unless all of these, which are to be made, fit."""
    limits = limits_of(organisation)
    if Quota.SERIES not in limits and Quota.HOSTS not in limits:
        return
    names = {key.host for key in new}
    found = Host.objects.filter(organisation=organisation, name__in=names)
    known = set(found.values_list("name", flat=True))
    hosts = len(names) - len(known)
    room = COUNTS.room(organisation, limits, series=len(new), hosts=hosts)
    refused = refused_series(new, known_hosts=known, room=room)
    if refused:
        whole = {key.host for key in refused} - known
        raise SeriesOverQuotaError(refused, whole)
    COUNTS.made(organisation, series=len(new), hosts=hosts)


def save_within_quotas(
    batch: Batch, save: Callable[[Batch], int], *, organisation: Organisation, over: OverQuota
) -> tuple[Batch, int]:
    """Save a batch, without the series for which there is no room; what was saved, and its rows.

    Raises `QuotaExceededError` if the body has to wait or nothing of it may be stored.
    """
    while True:
        try:
            return batch, save(batch)
        except SeriesOverQuotaError as error:
            quota = next(iter(error.refused.values()))
            hosts = {key.host for key in batch.series}
            if over is OverQuota.FAIL or (
                over is OverQuota.HOLD and len(hosts) == 1 and hosts == set(error.hosts)
            ):
                HITS.note(organisation, quota, now=timezone.now(), bodies=1)
                raise QuotaExceededError(
                    quota, used_up(organisation, quota), retry_after_s=HELD_RETRY_S
                ) from error
            batch = _without(batch, error, organisation)


def _without(batch: Batch, error: SeriesOverQuotaError, organisation: Organisation) -> Batch:
    reasons = {quota: used_up(organisation, quota) for quota in set(error.refused.values())}
    left = without_series(batch, error.refused, hosts=error.hosts, reasons=reasons)
    of_reason = {reason: quota for quota, reason in reasons.items()}
    for one in left.rejections[len(batch.rejections) :]:
        quota = of_reason[one.reason]
        HITS.note(organisation, quota, now=timezone.now(), points=one.line_count)
    return left


@dataclass(slots=True)
class _Count:
    """The rows of an organisation, when they were counted, and when they may be again."""

    series: int
    hosts: int
    counted_s: float
    again_s: float


class Counts:
    """How many series and hosts organisations have, as far as this process knows.

    Others may make some before the next count, which is after a second where little is left.
    """

    def __init__(self) -> None:
        self._counts: dict[int, _Count] = {}
        self._lock = Lock()

    def room(self, organisation: Organisation, limits: Limits, *, series: int, hosts: int) -> Room:
        """What is left of each quota, counted anew if that and these new ones make it tight."""
        with self._lock:
            count = self._counts.get(organisation.pk)
        if count is not None:
            room = _room(count, limits)
            wanted = {Quota.SERIES: series, Quota.HOSTS: hosts}
            is_tight = any(
                left - wanted[quota] < _TIGHT_RATIO * limits[quota] for quota, left in room.items()
            )
            until_s = count.again_s if is_tight else count.counted_s + _COUNT_HOLDS_S
            if time.monotonic() < until_s:
                return room
        return _room(self._count(organisation), limits)

    def made(self, organisation: Organisation, *, series: int, hosts: int) -> None:
        """Add what this process makes."""
        with self._lock:
            if count := self._counts.get(organisation.pk):
                count.series += series
                count.hosts += hosts

    def forget(self) -> None:
        """Forget all, as in another process."""
        with self._lock:
            self._counts.clear()

    def _count(self, organisation: Organisation) -> _Count:
        began_s = time.monotonic()
        series, hosts = rows_of(organisation, now=timezone.now(), heard_within=retention())
        ended_s = time.monotonic()
        took_s = ended_s - began_s
        count = _Count(
            series=series,
            hosts=hosts,
            counted_s=ended_s,
            again_s=ended_s + max(_FRESH_S, took_s / _COUNTING_RATIO),
        )
        with self._lock:
            self._counts[organisation.pk] = count
        return count


COUNTS = Counts()


def rows_of(
    organisation: Organisation, *, now: datetime, heard_within: timedelta
) -> tuple[int, int]:
    """The series of an organisation, and its hosts that were heard in this time."""
    series = Series.objects.filter(organisation=organisation).count()
    heard = Host.objects.filter(organisation=organisation, heard_at__gte=now - heard_within)
    return series, heard.count()


def _room(count: _Count, limits: Limits) -> Room:
    used = {Quota.SERIES: count.series, Quota.HOSTS: count.hosts}
    return {quota: limits[quota] - rows for quota, rows in used.items() if quota in limits}
