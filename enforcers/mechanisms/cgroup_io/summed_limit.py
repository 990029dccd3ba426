"""A limit on the sum of several disks of one workload: the part of each. Pure.

Each disk is limited by itself, so the parts follow what each wants; a disk that takes less than
its part leaves the rest to those that are held.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim, entitlements

# A disk whose demand grows by more is held for a period, and has its fair part in the next.
_ROOM_RATIO = 1.3
IDLE_RATIO = 0.05
"""So much stays open for a disk that is idle, so that its first I/O does not wait."""
# What a disk does in half a second is off by one of the kernel's five slices.
_WINDOW_S = 2.0
_FULL_RATIO = 0.9
# So far beyond the limit the parts are wrong, whatever the slices do.
_BEYOND_RATIO = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPeriod:
    """What a disk was let do, and did, per second in one period."""

    part: float
    rate: float
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The periods since the parts were last set, each with all disks in one order."""

    periods: tuple[tuple[DiskPeriod, ...], ...] = ()
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """What a disk did per second, as the limit counts; `is_held`: all that it was let do."""

    rate: float
    is_held: bool


def next_window(window: Window, period: tuple[DiskPeriod, ...], elapsed_s: float) -> Window:
    """With one more period. Other disks than before begin another window."""
    if window.periods and len(window.periods[-1]) != len(period):
        window = Window()
    return Window(periods=(*window.periods, period), elapsed_s=window.elapsed_s + elapsed_s)


def is_whole(window: Window, limit: float) -> bool:
    """Whether the parts shall be set anew: seen for long enough, or wrong beyond doubt."""
    last = window.periods[-1]
    comes_back = any(_comes_back(disk, limit) for disk in last)
    is_beyond = sum(disk.rate for disk in last) > _BEYOND_RATIO * limit
    return window.elapsed_s >= _WINDOW_S or comes_back or is_beyond


def uses_of(window: Window, limit: float) -> list[DiskUse]:
    """What each disk did in the window, and whether it was held in it."""
    return [_use(periods, limit) for periods in zip(*window.periods, strict=True)]


def _use(periods: Sequence[DiskPeriod], limit: float) -> DiskUse:
    done = sum(disk.rate for disk in periods)
    is_full = done >= _FULL_RATIO * sum(disk.part for disk in periods)
    is_often_held = 2 * sum(disk.is_held for disk in periods) >= len(periods)
    return DiskUse(
        rate=done / len(periods),
        is_held=is_full or is_often_held or _comes_back(periods[-1], limit),
    )


def _comes_back(disk: DiskPeriod, limit: float) -> bool:
    """Whether a disk that was idle takes all that was kept open for it."""
    return disk.is_held and disk.part <= IDLE_RATIO * limit


def parts_of_sum(limit: float, disks: Sequence[DiskUse]) -> tuple[float, ...]:
    """The limit of each disk for the next period, in their order.

    Equal parts for those that are held, of what the others do not take. What all together do
    not take is open to each.
    """
    claims = [Claim(demand=None if disk.is_held else disk.rate) for disk in disks]
    dues = entitlements(limit, claims, ReservationMode.FLOOR)
    free = max(0.0, limit - sum(dues))
    return tuple(
        due if disk.is_held else max(IDLE_RATIO * limit, _ROOM_RATIO * due, due + free)
        for due, disk in zip(dues, disks, strict=True)
    )
