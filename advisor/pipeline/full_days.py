"""Keep the daily peaks of resources and pools, and foretell when they reach what there is.

Each day is read once, after it was sealed; a pool whose members change is read anew. Late samples
of a day that was read do not change its peak.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from random import Random

from django.db.models import Prefetch, Q

from advisor.core.demand.full_day import HORIZON_DAYS, LONGEST_PAST_DAYS, FullDay, full_day
from advisor.history.daily_peaks import DAY, Peaks, read_daily_peaks
from advisor.history.whole_windows import first_samples
from advisor.models import DemandOutlook, Pool, Resource
from ingest.open_hours import HOUR, SETTLED_AFTER

MOST_DAYS = 30
"""Days that are read at once."""


_KEPT = [
    "members", "last_day", "peaks", "full_rate", "until_day", "soonest_day", "median_day",
    "latest_day", "reached_day", "ahead", "gap",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """A resource, or one of its pools, and the most that it can have; None is not known."""

    pool: Pool | None
    members: list[int]
    full_rate: float | None


def last_day(now: datetime) -> date:
    """The newest day whose hours are sealed by now."""
    return (now - HOUR - SETTLED_AFTER).astimezone(UTC).date() - DAY


def resources_to_foresee(*, now: datetime) -> list[tuple[int, int]]:
    """(organisation, resource) of those with a new day, or with terms that were stated anew."""
    rows = Resource.objects.filter(Q(capacity__isnull=False) | Q(pools__isnull=False)).distinct()
    outlooks = Prefetch("demand_outlooks", DemandOutlook.objects.defer("peaks", "ahead"))
    rows = rows.prefetch_related("pools__members", outlooks).order_by("pk")
    day = last_day(now)
    return [(row.organisation_id, row.pk) for row in rows if _is_due(row, day)]


def _is_due(resource: Resource, day: date) -> bool:
    outlooks = {one.pool_id: one for one in resource.demand_outlooks.all()}
    for subject in _subjects(resource):
        outlook = outlooks.get(subject.pool.pk if subject.pool else None)
        if outlook is None or outlook.last_day < day or not _is_of(outlook, subject):
            return True
    return False


def _is_of(outlook: DemandOutlook, subject: _Subject) -> bool:
    return outlook.members == subject.members and outlook.full_rate == subject.full_rate


def _subjects(resource: Resource) -> list[_Subject]:
    whole = _Subject(pool=None, members=[], full_rate=resource.capacity)
    return [
        whole,
        *(
            _Subject(
                pool=pool,
                members=sorted(one.pk for one in pool.members.all()),
                full_rate=pool.limit or pool.reservation or None,
            )
            for pool in resource.pools.all()
        ),
    ]


def foresee(*, resource: Resource, now: datetime, limit_s: float) -> bool:
    """Read the days that are new and foretell anew; False if time was up before all were read."""
    ends_at = time.monotonic() + limit_s
    day = last_day(now)
    while True:
        if _read_some(resource, day, now=now):
            return True
        if time.monotonic() > ends_at:
            return False


def _read_some(resource: Resource, last: date, *, now: datetime) -> bool:
    """Read the oldest days that are not known of all; True if none is left.

    Reading takes a while, so nothing is held meanwhile: who does the same at once stores the same.
    """
    subjects = _subjects(resource)
    begin = _begin(resource, last, now)
    stored = {one.pool_id: one for one in DemandOutlook.objects.filter(resource=resource)}
    rows = [_outlook(resource, one, begin, stored) for one in subjects]
    oldest = min(row.last_day for row in rows)
    count = min((last - oldest).days, MOST_DAYS)
    if count > 0:
        _extend(resource, rows, first=oldest + DAY, days=count)
    is_done = oldest + count * DAY >= last
    if is_done:
        for row, subject in zip(rows, subjects, strict=True):
            _foretell(row, subject)
    DemandOutlook.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["resource", "pool"], update_fields=_KEPT
    )
    return is_done


def _begin(resource: Resource, last: date, now: datetime) -> date:
    """The day before the first that is of use: history begins later, or is longer than needed."""
    earliest = last - timedelta(days=LONGEST_PAST_DAYS)
    first = first_samples([resource], now=now).get(resource.pk)
    if first is None:
        return last
    return min(last, max(earliest, first.astimezone(UTC).date() - DAY))


def _outlook(
    resource: Resource,
    subject: _Subject,
    begin: date,
    stored: Mapping[int | None, DemandOutlook],
) -> DemandOutlook:
    """The row to store, without its peaks if they are of other members.

    Days that nobody read while they were kept stay unknown.
    """
    row = stored.get(subject.pool.pk if subject.pool else None)
    if row is None or row.members != subject.members:
        row = DemandOutlook(resource=resource, pool=subject.pool, last_day=begin)
    row.members = subject.members
    if row.last_day < begin:
        lost: Peaks = [None] * (begin - row.last_day).days
        row.peaks, row.last_day = [*row.peaks, *lost], begin
    return row


def _extend(resource: Resource, rows: Iterable[DemandOutlook], *, first: date, days: int) -> None:
    """Add these days to those of the rows that do not know them yet."""
    until = first + (days - 1) * DAY
    behind = [row for row in rows if row.last_day < until]
    members: Mapping[int, Sequence[int]] = {
        row.pool_id: row.members for row in behind if row.pool_id is not None
    }
    whole, pools = read_daily_peaks(resource, first=first, days=days, pools=members)
    for row in behind:
        peaks = whole if row.pool_id is None else pools[row.pool_id]
        known: Peaks = row.peaks + peaks[(row.last_day - first).days + 1 :]
        row.peaks, row.last_day = known[-LONGEST_PAST_DAYS:], until


def _foretell(row: DemandOutlook, subject: _Subject) -> None:
    found = _foretold(row.peaks, subject)
    row.full_rate = subject.full_rate
    if isinstance(found, str):
        row.gap, row.ahead = found, []
        row.until_day = row.soonest_day = row.median_day = row.latest_day = row.reached_day = None
        return
    row.gap, row.ahead = "", [asdict(one) for one in found.ahead]
    row.until_day = row.last_day + HORIZON_DAYS * DAY
    row.soonest_day = _in_days(row, found.soonest_days)
    row.median_day = _in_days(row, found.median_days)
    row.latest_day = _in_days(row, found.latest_days)
    ago = found.reached_days_ago
    row.reached_day = None if ago is None else row.last_day - ago * DAY


def _foretold(peaks: Peaks, subject: _Subject) -> FullDay | str:
    if subject.full_rate is None:
        return "no limit or reservation is set" if subject.pool else "its capacity is not set"
    if subject.pool and not subject.members:
        return "it has no members"
    # The same history gives the same answer.
    return full_day(peaks, full=subject.full_rate, random=Random(0))  # noqa: S311  no secret


def _in_days(row: DemandOutlook, days: int | None) -> date | None:
    return None if days is None else row.last_day + days * DAY
