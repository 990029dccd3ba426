"""When the adapter of each allocation was its own.

A cgroup, virtual disk or interface of one name may be that of another workload later: what it
counted until then is not the later one's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from advisor.models import AdapterKind, Allocation
from ingest.core.grid import Flags, Floats, Grid, microseconds

_NEVER_US = 2**63 - 1


class OwnTime(NamedTuple):
    """What the adapter of the allocation at this place counts in (since, until] is its own."""

    place: int
    since_us: int
    until_us: int


def own_times(rows: Sequence[Allocation]) -> list[OwnTime]:
    """Of those that vanished, and of those that have the adapter of one that vanished."""
    if all(row.vanished_at is None for row in rows):
        return []
    by_adapter: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    for place, row in enumerate(rows):
        until_us = _NEVER_US if row.vanished_at is None else microseconds(row.vanished_at)
        by_adapter[_adapter(row)].append((until_us, place))
    return [one for own in by_adapter.values() for one in _one_after_the_other(own)]


def _adapter(row: Allocation) -> tuple[object, ...]:
    """What is counted for an allocation, as its samples name it."""
    is_named = row.adapter_kind in (AdapterKind.VDISK, AdapterKind.MOUNT)
    named = row.vdisk if is_named else ""
    return row.resource_id, row.host_id, row.adapter_kind, row.adapter, named


def _one_after_the_other(ends: Sequence[tuple[int, int]]) -> Iterator[OwnTime]:
    """The times of allocations of one adapter, by their ends and places."""
    since_us = 0
    for until_us, place in sorted(ends):
        if since_us > 0 or until_us < _NEVER_US:
            yield OwnTime(place=place, since_us=since_us, until_us=until_us)
        if until_us < _NEVER_US:
            since_us = until_us


class Mounted(NamedTuple):
    """The place of a mount, and those of workloads whose I/O it counts, too."""

    place: int
    workloads: Sequence[int]


def mounted(rows: Sequence[Allocation]) -> list[Mounted]:
    """Mounts beside workloads that were found on them: one vanished when the other was found."""
    mounts: dict[tuple[int, int], list[int]] = defaultdict(list)
    others: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row.found:
            kind = mounts if row.adapter_kind == AdapterKind.MOUNT else others
            kind[row.resource_id, row.host_id].append(place)
    return [
        Mounted(place=place, workloads=others[where])
        for where, places in mounts.items()
        if where in others
        for place in places
    ]


def windows_of_others(
    times: Iterable[OwnTime], mounts: Iterable[Mounted], grid: Grid, rate: Floats
) -> Iterator[tuple[int, Flags]]:
    """By place of an allocation the windows in which what is counted for it is of others.

    `rate` is (windows, allocations). It is asked for mounts last, without what was yielded before.
    """
    for own in times:
        yield own.place, (grid.ends_us <= own.since_us) | (grid.ends_us > own.until_us)
    for mount in mounts:
        is_counted: Flags = np.logical_or.reduce(~np.isnan(rate[:, mount.workloads]), axis=1)
        yield mount.place, is_counted
