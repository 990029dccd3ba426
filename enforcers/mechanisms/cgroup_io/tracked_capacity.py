"""Keeps the model of a device below what the device can do, so that iocost keeps its grip. Pure.

A model above the device's true capacity never holds anybody back: all wait in the device, where
no weight counts. So the capacity goes to some way below what was measured then, and is probed
upward from there.
"""

from dataclasses import dataclass, replace

from enforcers.contract import Unit
from enforcers.mechanisms.cgroup_io.counts import DiskCount

# Below the measured total. At 2 or 3 % below, what has piled up in the device takes too long to
# drain; at 8 % it does within two seconds.
_BELOW_RATIO = 0.92
_CEILING_RATIO = 0.985
_PROBE_RATIO = 1.01
_PROBE_PERIOD_S = 4.0
_CEILING_PERIOD_S = 60.0
_TROUBLE_S = 2.0
_DRAIN_S = 5.0
# With a firm grip each group that wants more waits nearly all of the time.
_FIRM_RATIO = 0.5
NO_GRIP_S = 10.0
# Less waiting than this part of the time is nobody's.
WAITED_RATIO = 0.02
_PILED = 4.0
_FULL_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The device in one period: all I/O per second in the capacity's unit, and who waited where.

    `waited_ratio` is waiting in iocost as a part of the time, added up over groups. `is_pressed`:
    requests pile up in the device.
    """

    elapsed_s: float
    total: float
    active_groups: int
    waited_ratio: float
    is_pressed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The capacity now, that of the policy, and the highest that may be probed (None: unknown).

    `former` is the capacity before a correction that has not proved right yet. Of a device that
    is `deep` requests pile up also below its capacity. `trouble_s` is how long the grip has been
    weak, `lost_s` how long there was none at all, `calm_s` how long all has gone well, and
    `drain_s` how long what piled up may still take.
    """

    stated: float
    capacity: float
    ceiling: float | None = None
    former: float | None = None
    is_deep: bool = False
    trouble_s: float = 0.0
    lost_s: float = 0.0
    calm_s: float = 0.0
    drain_s: float = 0.0


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
        active_groups=active_groups,
        waited_ratio=waited_ratio,
        is_pressed=is_full or queue >= _PILED,
    )


def followed(track: Track, seen: Look) -> Track:
    """The track after one more period."""
    has_lost = _is_contended(seen) and seen.waited_ratio < WAITED_RATIO
    is_weak = _is_contended(seen) and seen.waited_ratio < _FIRM_RATIO * seen.active_groups
    track = replace(
        track,
        drain_s=max(0.0, track.drain_s - seen.elapsed_s),
        lost_s=track.lost_s + seen.elapsed_s if has_lost else 0.0,
    )
    if has_lost or (is_weak and not track.is_deep):
        track = replace(track, trouble_s=track.trouble_s + seen.elapsed_s, calm_s=0.0)
        has_waited = track.drain_s == 0 and track.trouble_s >= _TROUBLE_S
        return _lowered(track, seen, has_lost=has_lost) if has_waited else track
    calm_s = track.calm_s + seen.elapsed_s if seen.waited_ratio >= WAITED_RATIO else 0.0
    if track.drain_s > 0:
        return replace(track, trouble_s=0.0, calm_s=calm_s)
    calm = replace(track, trouble_s=0.0, calm_s=calm_s, former=None)
    return _probed(calm)


def _is_contended(seen: Look) -> bool:
    return seen.is_pressed and seen.active_groups > 1


def _lowered(track: Track, seen: Look, *, has_lost: bool) -> Track:
    """Below the total, so that what piled up drains.

    If requests pile up even then while groups wait, it was not the capacity.
    """
    if track.former is not None and not has_lost:
        return replace(track, capacity=track.former, ceiling=None, former=None, is_deep=True)
    lower = _BELOW_RATIO * seen.total
    if lower >= track.capacity:
        return track
    return replace(
        track,
        capacity=lower,
        ceiling=_CEILING_RATIO * seen.total,
        former=track.capacity,
        trouble_s=0.0,
        drain_s=_DRAIN_S,
    )


def _probed(track: Track) -> Track:
    """Upward by a step: up to the ceiling, and beyond it seldom.

    A capacity that the device never failed to reach is left where the policy put it.
    """
    if track.ceiling is None or track.calm_s < _PROBE_PERIOD_S:
        return track
    if track.capacity * _PROBE_RATIO <= track.ceiling:
        return replace(track, capacity=track.capacity * _PROBE_RATIO, calm_s=0.0)
    if track.calm_s >= _CEILING_PERIOD_S:
        return replace(track, ceiling=track.ceiling * _PROBE_RATIO, calm_s=0.0)
    return track
