"""Maintenance windows: planned work, whose congestion raises no alarm.

A planned backup excuses slow neighbours while it is meant to run. It does not excuse an unmet
reservation, an aggressor that is not part of it, or a stalled device.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from advisor.core.enumeration import listed
from advisor.core.number_checks import check_aware, check_positive

LONGEST_S = 7 * 86_400.0
"""A window longer than a week would overlap the next."""
OVERRUN_S = 300.0
"""Planned work may begin this much early and end this much late."""


class Recurrence(StrEnum):
    """How often planned work happens."""

    ONCE = "once"
    DAILY = "daily"
    WEEKLY = "weekly"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """Planned work from `starts_at` for `length_s`, once or repeated.

    It recurs at the same wall-clock time in the zone of `starts_at`. Without `resources` it covers
    all of them; without `workloads` any workload may be busy.
    """

    name: str
    starts_at: datetime
    length_s: float
    recurrence: Recurrence = Recurrence.ONCE
    resources: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_aware("starts_at", self.starts_at)
        check_positive("length_s", self.length_s)
        longest = 86_400.0 if self.recurrence is Recurrence.DAILY else LONGEST_S
        if self.length_s > longest:
            raise ValueError(
                f"length_s is {self.length_s!r}; "
                f"{self.recurrence} work lasts at most {longest:g} s"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTime:
    """A period in which a resource was slow, with the workloads that caused it.

    `ended_at` None means that it is ongoing. `reservation_unmet` means that a reservation was not
    met, `stalled` that I/O was in flight and none completed.
    """

    resource: str
    began_at: datetime
    ended_at: datetime | None
    aggressors: tuple[str, ...] = ()
    reservation_unmet: bool = False
    stalled: bool = False

    def __post_init__(self) -> None:
        check_aware("began_at", self.began_at)
        if self.ended_at is not None:
            check_aware("ended_at", self.ended_at)
            if self.ended_at < self.began_at:
                raise ValueError(f"ended_at {self.ended_at} lies before began_at {self.began_at}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Muting:
    """Whether to raise no alarm, and why; `maintenance` is the maintenance window concerned."""

    muted: bool
    maintenance: str | None
    reason: str


def mute(slow: SlowTime, planned: Sequence[MaintenanceWindow], *, now: datetime) -> Muting:
    """Whether one maintenance window explains the whole slow period so far."""
    check_aware("now", now)
    if slow.reservation_unmet:
        return Muting(muted=False, maintenance=None, reason="a reservation was not met")
    if slow.stalled:
        return Muting(
            muted=False,
            maintenance=None,
            reason="I/O did not complete, which no planned work explains",
        )
    ended_at = max(slow.began_at, slow.ended_at or now)
    reason = "no maintenance window was planned for it"
    for maintenance in sorted(planned, key=lambda one: one.name):
        if not _concerns(maintenance, slow.resource):
            continue
        if not _covers(maintenance, slow.began_at, ended_at):
            if _touches(maintenance, slow.began_at, ended_at):
                reason = f'it lasted beyond the time planned for "{maintenance.name}"'
            continue
        strangers = (
            sorted(set(slow.aggressors) - set(maintenance.workloads))
            if maintenance.workloads
            else []
        )
        if strangers:
            are = "is" if len(strangers) == 1 else "are"
            reason = f'{listed(strangers)} {are} not part of "{maintenance.name}"'
            continue
        return Muting(
            muted=True,
            maintenance=maintenance.name,
            reason=f'"{maintenance.name}" is planned for this time',
        )
    return Muting(muted=False, maintenance=None, reason=reason)


def occurrences(
    maintenance: MaintenanceWindow, *, since: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """When it begins and ends, in UTC, each time that it lasts between these times, in order."""
    check_aware("since", since)
    check_aware("until", until)
    for begin, end in _occurrences(maintenance, since, until):
        if begin < until and end > since:
            yield begin.astimezone(UTC), end.astimezone(UTC)


def _concerns(maintenance: MaintenanceWindow, resource: str) -> bool:
    return not maintenance.resources or resource in maintenance.resources


def _covers(maintenance: MaintenanceWindow, began_at: datetime, ended_at: datetime) -> bool:
    slack = timedelta(seconds=OVERRUN_S)
    return any(
        begin - slack <= began_at and ended_at <= end + slack
        for begin, end in _occurrences(maintenance, began_at, ended_at)
    )


def _touches(maintenance: MaintenanceWindow, began_at: datetime, ended_at: datetime) -> bool:
    return any(
        begin <= ended_at and began_at < end
        for begin, end in _occurrences(maintenance, began_at, ended_at)
    )


def _occurrences(
    maintenance: MaintenanceWindow, began_at: datetime, ended_at: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The occurrences near this time, in wall-clock days, so that summer time shifts none."""
    length = timedelta(seconds=maintenance.length_s)
    first = maintenance.starts_at
    if maintenance.recurrence is Recurrence.ONCE:
        yield first, first + length
        return
    every_days = 1 if maintenance.recurrence is Recurrence.DAILY else 7
    zone = first.tzinfo
    slack = timedelta(seconds=LONGEST_S) + timedelta(days=every_days)
    passed_days = max((began_at - slack - first).days, 0)
    index = passed_days // every_days
    while True:
        day = first.date() + timedelta(days=index * every_days)
        begin = datetime.combine(day, first.timetz(), tzinfo=zone)
        if begin > ended_at + slack:
            return
        # Elapsed time counts from the instant, not from the wall clock.
        yield begin, (begin.astimezone(UTC) + length)
        index += 1
