"""What a device did in one period, out of the disk's own counters. Pure."""

from dataclasses import dataclass

from enforcers.contract import Unit
from enforcers.mechanisms.cgroup_io.counts import DiskCount

_PILED = 4.0
_FULL_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The device in one period: all I/O per second in the capacity's unit, and who waited where.

    `queue` is how many requests the device had in the mean. `waited_ratio` is waiting in iocost
    as a part of the time, added up over groups. `is_pressed`: requests pile up in the device.
    """

    elapsed_s: float
    total: float
    queue: float
    active_groups: int
    waited_ratio: float
    is_pressed: bool


def look(
    before: DiskCount,
    after: DiskCount,
    *,
    unit: Unit,
    places: int | None,
    active_groups: int,
    waited_ratio: float,
) -> Look | None:
    """What the disk's own counters say; None if they do not go forward.

    Requests pile up where the disk has four in the mean, or all of its `places` taken
    (`nr_requests`; None: unknown). It counts none that wait for a place, and the time in which
    it is busy too coarsely to go by it.
    """
    elapsed_s = after.at_s - before.at_s
    queued_ms = after.queued_ms - before.queued_ms
    done = after.bytes - before.bytes if unit is Unit.BYTES_PER_S else after.ios - before.ios
    if elapsed_s <= 0 or min(queued_ms, done) < 0:
        return None
    queue = queued_ms / 1e3 / elapsed_s
    is_full = places is not None and queue >= _FULL_RATIO * places
    return Look(
        elapsed_s=elapsed_s,
        total=done / elapsed_s,
        queue=queue,
        active_groups=active_groups,
        waited_ratio=waited_ratio,
        is_pressed=is_full or queue >= _PILED,
    )
