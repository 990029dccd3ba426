"""Follows the limits of one device: what is written is for each group and each direction.

What a limit holds, and how it counts, is computed by `pooled_limit` and `summed_limit`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from enforcers.contract import Allocation, IoCount, Unit
from enforcers.mechanisms.cgroup_io import controls
from enforcers.mechanisms.cgroup_io.counts import Count, Did, did
from enforcers.mechanisms.cgroup_io.joint_limits import JointLimits, Stated
from enforcers.mechanisms.cgroup_io.lent_parts import Parts, rate_of, sum_of_parts
from enforcers.mechanisms.cgroup_io.limit_grip import LimitGrip, next_limit_grip
from enforcers.mechanisms.cgroup_io.pooled_limit import (
    SMALLEST_PART,
    Pool,
    Took,
    first_pool,
    is_held,
    next_pool,
)
from enforcers.mechanisms.cgroup_io.short_looks import LimitParts
from enforcers.mechanisms.cgroup_io.summed_limit import (
    DiskPeriod,
    Window,
    is_whole,
    next_window,
    parts_of_sum,
    uses_of,
)

_COUNTED_BYTES = 32 * 1024

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
    """One limit, of one group or of all disks of a workload.

    `stated` is the policy's. Where hosts hold it together, `value` is this host's present part,
    and `joint_of` the workload.
    """

    stated: float
    value: float
    joint_of: str | None
    disks: dict[str, _Disk]
    grip: LimitGrip = field(default_factory=LimitGrip)
    window: Window = field(default_factory=Window)


class FollowedLimits:
    """The limits of one policy on one device, by what each holds.

    `joint` divides those that other hosts hold too; None where nobody is told.
    """

    def __init__(self, joint: JointLimits | None = None) -> None:
        self._joint = joint
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

    @property
    def parts(self) -> dict[str, LimitParts]:
        """By group under a limit what it may read and write per second now."""
        return {
            group: (disk.pool.reads, disk.pool.writes)
            for limit in self._limits.values()
            for group, disk in limit.disks.items()
        }

    def renew(self, kept: Sequence[Allocation], unit: Unit, standing: Mapping[str, Parts]) -> None:
        """Go on after a pass. Groups with no `standing` parts have what the policy sets first."""
        if self._joint is not None:
            self._joint.renew(_joint_limits(kept, unit, standing))
        before, self._limits = self._limits, {}
        for item in kept:
            together = controls.disks_of(item, kept)
            value = controls.limit_over(together, unit)
            if value is None:
                continue
            group = item.selector.value
            name = group if len(together) == 1 else f"sum of {item.workload}"
            known = before.get(name)
            joint_of = None if item.joint_limit is None else item.workload
            if known is None or (known.stated, known.joint_of) != (value, joint_of):
                known = _Limit(
                    stated=value, value=self._value(value, joint_of), joint_of=joint_of, disks={}
                )
            limit = self._limits.setdefault(name, replace(known, disks={}))
            disk = known.disks.get(group) if group in standing else None
            limit.disks[group] = disk or _Disk(
                pool=_first_pool(value, unit, standing.get(group), disks=len(together)),
                is_sized=unit is Unit.IOPS and item.io_count is IoCount.PER_32_KIB,
            )

    def _value(self, stated: float, joint_of: str | None) -> float:
        """What a limit is here: of one over several hosts this host's part now."""
        part = None if self._joint is None or joint_of is None else self._joint.part(joint_of)
        return stated if part is None else part

    def follow(self, done: Mapping[str, Did], read_bytes: ReadBytes, make: Make) -> None:
        """One period."""
        for limit in self._limits.values():
            took = {
                group: _took(disk, done[group], partial(read_bytes, group))
                for group, disk in limit.disks.items()
                if group in done
            }
            if took:
                self._follow_one(limit, took, make)

    def leave(self, make: Make) -> None:
        """Leave the part by the policy of limits that other hosts hold too, by the last mix."""
        for limit in self._limits.values():
            if limit.joint_of is None or limit.value == limit.stated:
                continue
            # Of a part of nothing the least stands in both directions of each disk.
            ratio = limit.stated / max(limit.value, 2 * SMALLEST_PART * len(limit.disks))
            for group, disk in limit.disks.items():
                reads, writes = (
                    max(SMALLEST_PART, int(part * ratio))
                    for part in (disk.pool.reads, disk.pool.writes)
                )
                make(group, _text(replace(disk.pool, reads=reads, writes=writes)))

    def _follow_one(self, limit: _Limit, took: Mapping[str, Took], make: Make) -> None:
        # A disk that could not be read may do as much as it is let.
        rates = {
            group: took[group].reads + took[group].writes if group in took else disk.pool.limit
            for group, disk in limit.disks.items()
        }
        rate, elapsed_s = sum(rates.values()), max(one.elapsed_s for one in took.values())
        # A small part of a joint limit is rounded, and its own part holds for certain.
        most = max(limit.value, limit.stated)
        limit.grip = next_limit_grip(limit.grip, limit=most, rate=rate, elapsed_s=elapsed_s)
        parts = _parts(limit, rates, took)
        if self._joint is not None and limit.joint_of is not None:
            self._joint.take(limit.joint_of, rate=rate, elapsed_s=elapsed_s)
            parts = _with_another_value(limit, parts, self._joint.part(limit.joint_of))
        _make_parts(limit, rates, took, parts, make)


def _joint_limits(
    kept: Sequence[Allocation], unit: Unit, standing: Mapping[str, Parts]
) -> dict[str, Stated]:
    """By workload the limits that other hosts hold too."""
    found: dict[str, Stated] = {}
    for item in kept:
        together = controls.disks_of(item, kept)
        own = controls.limit_over(together, unit)
        if item.joint_limit is None or own is None:
            continue
        is_set = any(disk.selector.value in standing for disk in together)
        found[item.workload] = Stated(
            own=own,
            limit=item.joint_limit,
            standing=sum_of_parts(together, unit, standing, own=own) if is_set else None,
        )
    return found


def _first_pool(limit: float, unit: Unit, standing: Parts | None, *, disks: int) -> Pool:
    """What the policy sets, or what stands from before."""
    pool, rate = first_pool(limit / disks, unit), rate_of(standing, unit)
    if standing is None or rate is None:
        return pool
    reads, writes = (int(standing[key]) for key in controls.limit_keys(unit))
    return replace(pool, limit=min(rate, limit), reads=reads, writes=writes)


def _with_another_value(
    limit: _Limit, parts: Sequence[float], value: float | None
) -> Sequence[float]:
    """The parts of the disks once the host has another part of a joint limit."""
    if value is None or value == limit.value:
        return parts
    before, limit.value, limit.window = limit.value, value, Window()
    if before <= 0:
        return [value / len(parts) for _ in parts]
    return [part * value / before for part in parts]


def _make_parts(
    limit: _Limit,
    rates: Mapping[str, float],
    took: Mapping[str, Took],
    parts: Sequence[float],
    make: Make,
) -> None:
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
