"""Group incidents by cause: thirty slow workloads on one slow datastore are one group.

An uplink explains the datastores reached through it, and a datastore explains its workloads. Only
what neither explains is a group of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from advisor.core.enumeration import listed
from advisor.core.number_checks import check_aware

STORAGE_FIRST = 3
"""This many workloads of one datastore that are slow at once are slow because of it."""
HEAD_START_S = 60.0
"""An effect may be detected this much earlier than its cause."""


class CorrelationKind(StrEnum):
    """Where the cause lies."""

    RESOURCE = "resource"
    WORKLOAD = "workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestedResource:
    """A stretch of congestion. It may lie on named disks and be reached by other resources.

    `carries_others` is true of a resource of the kind that others are reached by.
    """

    resource: str
    began_at: datetime
    ended_at: datetime | None = None
    carries_others: bool = False
    reached_by: tuple[str, ...] = ()
    disks: str = ""

    def __post_init__(self) -> None:
        _check_times(self.resource, self.began_at, self.ended_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowWorkload:
    """A period in which one workload was slow on one resource."""

    workload: str
    resource: str
    began_at: datetime
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        _check_times(self.workload, self.began_at, self.ended_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatedIncidents:
    """One cause with everything that it explains.

    `resources` are the congested resources that belong to it, the cause first.
    """

    kind: CorrelationKind
    name: str
    began_at: datetime
    ended_at: datetime | None
    resources: tuple[str, ...]
    workloads: tuple[str, ...]
    reason: str


def correlate(
    congested: Sequence[CongestedResource], slow: Sequence[SlowWorkload]
) -> list[CorrelatedIncidents]:
    """All groups, in the order in which they began; every input belongs to exactly one."""
    groups = _resource_groups(sorted(congested, key=_congested_order))
    left: list[SlowWorkload] = []
    for workload in sorted(slow, key=_slow_order):
        home = next((group for group in groups if group.explains(workload)), None)
        if home is None:
            left.append(workload)
        else:
            home.workloads.append(workload)
    correlated = [group.correlated() for group in groups] + _leftovers(left)
    return sorted(correlated, key=lambda one: (one.began_at, one.kind, one.name))


def _congested_order(one: CongestedResource) -> tuple[object, ...]:
    return (one.began_at, one.resource, *_open_last(one.ended_at), one.disks, one.reached_by)


def _slow_order(one: SlowWorkload) -> tuple[object, ...]:
    return (one.began_at, one.workload, one.resource, *_open_last(one.ended_at))


def _open_last(ended_at: datetime | None) -> tuple[bool, float]:
    return (ended_at is None, 0.0 if ended_at is None else ended_at.timestamp())


def _check_times(name: str, began_at: datetime, ended_at: datetime | None) -> None:
    check_aware(f"began_at of {name}", began_at)
    if ended_at is not None:
        check_aware(f"ended_at of {name}", ended_at)
        if ended_at < began_at:
            raise ValueError(f"{name}: ended_at {ended_at} lies before began_at {began_at}")


@dataclass(slots=True, kw_only=True)
class _Group:
    """A cause while its effects are being collected."""

    cause: CongestedResource
    members: list[CongestedResource]
    workloads: list[SlowWorkload]

    def explains(self, workload: SlowWorkload) -> bool:
        return any(
            one.resource == workload.resource and _overlap(one, workload) for one in self.members
        )

    def correlated(self) -> CorrelatedIncidents:
        disks = self.cause.disks
        shared = disks and len({one.resource for one in self.members if one.disks == disks}) > 1
        names = list(dict.fromkeys(one.resource for one in self.members))
        workloads = tuple(sorted({one.workload for one in self.workloads}))
        why = f"{self.cause.resource} was congested"
        if len(names) > 1:
            tie = f"on the same disks {disks}" if shared else "reached through it"
            why += f", and {listed(names[1:])} {tie}"
        return CorrelatedIncidents(
            kind=CorrelationKind.RESOURCE,
            name=self.cause.resource,
            began_at=min(one.began_at for one in self.members),
            ended_at=_last_end([*self.members, *self.workloads]),
            resources=tuple(names),
            workloads=workloads,
            reason=why,
        )


def _resource_groups(congested: Sequence[CongestedResource]) -> list[_Group]:
    """Uplinks first; a datastore joins its uplink, or a datastore on the same disks."""
    groups: list[_Group] = []
    for one in sorted(congested, key=lambda each: not each.carries_others):
        home = next((group for group in groups if _belongs(one, group)), None)
        if home is None:
            groups.append(_Group(cause=one, members=[one], workloads=[]))
        else:
            home.members.append(one)
    return groups


def _belongs(one: CongestedResource, group: _Group) -> bool:
    if one.carries_others:
        return False
    cause = group.cause
    if cause.carries_others:
        return cause.resource in one.reached_by and _caused(cause, one)
    return bool(one.disks) and any(
        one.disks == member.disks and _overlap(member, one) for member in group.members
    )


def _caused(cause: CongestedResource, effect: CongestedResource) -> bool:
    head_start = timedelta(seconds=HEAD_START_S)
    return _overlap(cause, effect) and cause.began_at <= effect.began_at + head_start


def _overlap(
    one: CongestedResource | SlowWorkload, other: CongestedResource | SlowWorkload
) -> bool:
    head_start = timedelta(seconds=HEAD_START_S)
    ends_late_enough = one.ended_at is None or other.began_at <= one.ended_at
    begins_soon_enough = other.ended_at is None or one.began_at <= other.ended_at + head_start
    return ends_late_enough and begins_soon_enough


def _last_end(members: Sequence[CongestedResource | SlowWorkload]) -> datetime | None:
    ends = [one.ended_at for one in members]
    return None if None in ends else max(end for end in ends if end is not None)


def _leftovers(left: Sequence[SlowWorkload]) -> list[CorrelatedIncidents]:
    """Groups of slow workloads on one resource, and single slow workloads."""
    correlated = []
    for crowd in _crowds(left):
        names = tuple(sorted({one.workload for one in crowd}))
        resource = crowd[0].resource
        is_crowd = len(names) >= STORAGE_FIRST
        if is_crowd:
            reason = f"{len(names)} workloads of {resource} were slow at once, though it was not "
            reason += "seen congested"
        else:
            reason = f"{resource} was not congested: check the workload and its own limit"
        correlated += [
            CorrelatedIncidents(
                kind=CorrelationKind.RESOURCE if is_crowd else CorrelationKind.WORKLOAD,
                name=resource if is_crowd else group[0].workload,
                began_at=min(one.began_at for one in group),
                ended_at=_last_end(group),
                resources=(resource,) if is_crowd else (),
                workloads=tuple(sorted({one.workload for one in group})),
                reason=reason,
            )
            for group in ([crowd] if is_crowd else [[one] for one in crowd])
        ]
    return correlated


def _crowds(left: Sequence[SlowWorkload]) -> list[list[SlowWorkload]]:
    """Slow periods on one resource, joined where they overlap in time."""
    crowds: list[list[SlowWorkload]] = []
    for one in left:
        home = next(
            (
                crowd
                for crowd in crowds
                if crowd[0].resource == one.resource and any(_overlap(x, one) for x in crowd)
            ),
            None,
        )
        if home is None:
            crowds.append([one])
        else:
            home.append(one)
    return crowds
