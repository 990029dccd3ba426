"""Follows the limits of one device: what is written is for each group and each direction.

What a limit holds, and how it counts, is computed by `pooled_limit` and `summed_limit`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from enforcers.contract import Allocation, IoCount, Unit
from enforcers.mechanisms.cgroup_io import controls
from enforcers.mechanisms.cgroup_io.counts import Count, Did, did
from enforcers.mechanisms.cgroup_io.limit_grip import LimitGrip, next_limit_grip
from enforcers.mechanisms.cgroup_io.pooled_limit import (
    Pool,
    Took,
    first_pool,
    is_held,
    next_pool,
)
from enforcers.mechanisms.cgroup_io.summed_limit import (
    DiskPeriod,
    Window,
    is_whole,
    next_window,
    parts_of_sum,
    uses_of,
)

_COUNTED_BYTES = 32 * 1024

Parts = Mapping[str, str]
"""What stands in io.max of a group, by its keys."""
Make = Callable[[str, Parts], bool]
"""Writes other parts for a group; False if that fails."""
ReadBytes = Callable[[str], Count | None]
"""A group's totals in bytes."""


@dataclass(slots=True, kw_only=True)
class _Disk:
    """A group under a limit; what it read and wrote in bytes, where that counts."""

    pool: Pool
    is_sized: bool
    costs: tuple[float, float] = (1.0, 1.0)
    bytes: Count | None = None


@dataclass(slots=True, kw_only=True)
class _Limit:
    """One limit, of one group or of all disks of a workload."""

    value: float
    disks: dict[str, _Disk]
    grip: LimitGrip = field(default_factory=LimitGrip)
    window: Window = field(default_factory=Window)


class FollowedLimits:
    """The limits of one policy on one device, by what each holds."""

    def __init__(self) -> None:
        self._limits: dict[str, _Limit] = {}

    @property
    def groups(self) -> frozenset[str]:
        """The groups that are under a limit."""
        return frozenset(group for limit in self._limits.values() for group in limit.disks)

    @property
    def exceeded(self) -> dict[str, float]:
        """By group under a limit that does not hold: what is measured instead."""
        return {
            group: limit.grip.exceeded_by
            for limit in self._limits.values()
            if limit.grip.exceeded_by is not None
            for group in limit.disks
        }

    def renew(self, kept: Sequence[Allocation], unit: Unit, are_set: Iterable[str]) -> None:
        """Go on after a pass. Groups that are not `are_set` have what the policy sets at first."""
        before, self._limits = self._limits, {}
        present = set(are_set)
        for item in kept:
            together = controls.disks_of(item, kept)
            value = controls.limit_over(together, unit)
            if value is None:
                continue
            group = item.selector.value
            name = group if len(together) == 1 else f"sum of {item.workload}"
            known = before.get(name)
            if known is None or known.value != value:
                known = _Limit(value=value, disks={})
            limit = self._limits.setdefault(
                name, _Limit(value=value, disks={}, grip=known.grip, window=known.window)
            )
            disk = known.disks.get(group) if group in present else None
            limit.disks[group] = disk or _Disk(
                pool=first_pool(value / len(together), unit),
                is_sized=unit is Unit.IOPS and item.io_count is IoCount.PER_32_KIB,
            )

    def follow(self, done: Mapping[str, Did], read_bytes: ReadBytes, make: Make) -> None:
        """One period."""
        for limit in self._limits.values():
            took = {
                group: _took(disk, done[group], partial(read_bytes, group))
                for group, disk in limit.disks.items()
                if group in done
            }
            _follow_one(limit, took, make)


def _follow_one(limit: _Limit, took: Mapping[str, Took], make: Make) -> None:
    if not took:
        return
    # A disk that could not be read may do as much as it is let.
    rates = {
        group: took[group].reads + took[group].writes if group in took else disk.pool.limit
        for group, disk in limit.disks.items()
    }
    limit.grip = next_limit_grip(
        limit.grip,
        limit=limit.value,
        rate=sum(rates.values()),
        elapsed_s=max(one.elapsed_s for one in took.values()),
    )
    parts = _parts(limit, rates, took)
    for (group, disk), part in zip(limit.disks.items(), parts, strict=True):
        is_idle = rates[group] == 0 and part == disk.pool.limit
        if group not in took or is_idle:
            continue
        new = next_pool(disk.pool, took[group], limit=part)
        wanted = _text(new)
        if wanted == _text(disk.pool) or make(group, wanted):
            disk.pool = new


def _parts(limit: _Limit, rates: Mapping[str, float], took: Mapping[str, Took]) -> Sequence[float]:
    if len(limit.disks) == 1:
        return [limit.value]
    period = tuple(
        DiskPeriod(
            part=disk.pool.limit,
            rate=rates[group],
            is_held=group in took and is_held(disk.pool, took[group]),
        )
        for group, disk in limit.disks.items()
    )
    elapsed_s = max(one.elapsed_s for one in took.values())
    limit.window = next_window(limit.window, period, elapsed_s)
    if not is_whole(limit.window, limit.value):
        return [disk.pool.limit for disk in limit.disks.values()]
    uses, limit.window = uses_of(limit.window, limit.value), Window()
    return parts_of_sum(limit.value, uses)


def _took(disk: _Disk, done: Did, read_bytes: Callable[[], Count | None]) -> Took:
    if disk.is_sized:
        _weigh(disk, done, read_bytes)
    read_cost, write_cost = disk.costs
    return Took(
        reads=done.reads * read_cost,
        writes=done.writes * write_cost,
        elapsed_s=done.elapsed_s,
        read_cost=read_cost,
        write_cost=write_cost,
    )


def _weigh(disk: _Disk, done: Did, read_bytes: Callable[[], Count | None]) -> None:
    """For how many an I/O counts, by the mean size of the period; of none as before."""
    before, disk.bytes = disk.bytes, read_bytes()
    if disk.bytes is None:
        return
    size = did(before, disk.bytes, period_s=done.elapsed_s)
    if size is None:
        return
    former_read, former_write = disk.costs
    disk.costs = (
        _cost(size.reads, done.reads, former_read),
        _cost(size.writes, done.writes, former_write),
    )


def _cost(bytes_per_s: float, ios_per_s: float, former: float) -> float:
    if ios_per_s == 0:
        return former
    return max(1.0, bytes_per_s / ios_per_s / _COUNTED_BYTES)


def _text(pool: Pool) -> dict[str, str]:
    read_key, write_key = controls.limit_keys(pool.unit)
    return {read_key: str(pool.reads), write_key: str(pool.writes)}
