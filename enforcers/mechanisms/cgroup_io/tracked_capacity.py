"""Keeps the model of a device just below what the device can do. Pure.

A model above the device's true capacity never holds anybody back: all wait in the device, where
no weight counts. So the capacity goes to some way below what was measured then, and is probed
upward from there. A model below it costs throughput: one that is a capacity goes up by small
steps while the device does all that iocost lets through, and takes no longer for it.
"""

from dataclasses import dataclass, field, replace

from enforcers.mechanisms.cgroup_io.calm_time import CalmTime
from enforcers.mechanisms.cgroup_io.device_look import Look
from enforcers.mechanisms.cgroup_io.grip import has_no_hold, holds_nobody, is_contended

# Below the measured total. At 2 or 3 % below, what has piled up in the device takes too long to
# drain; at 8 % it does within two seconds.
_BELOW_RATIO = 0.92
_CEILING_RATIO = 0.985
_PROBE_RATIO = 1.01
_PROBE_PERIOD_S = 4.0
_CEILING_PERIOD_S = 60.0
_TROUBLE_S = 2.0
_DRAIN_S = 5.0
# What a step too far piles up in two seconds is little, and drains in about one.
_RETREAT_RATIO = 0.97
# Iocost lets through what the model says to a tenth of a percent.
_KEEPS_UP_RATIO = 0.996
# A device at its limit is beyond this within a second, for what it cannot do piles up.
_STRAINED_RATIO = 2.0
# With a firm grip each group that wants more waits nearly all of the time.
_FIRM_RATIO = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The capacity now, that of the policy, and the highest that has proved right.

    `ceiling` None: it is not probed. `may_rise`: also above what the policy states; the capacity
    is on trial while it is above the ceiling. `is_climbing`: nothing has gone wrong on the way
    up, at the beginning of which a request took `usual_latency_s` (None: not measured yet).
    `former` is the capacity before a correction that has not proved right yet. Of a device that
    is `deep` requests pile up also below its capacity. `trouble_s` is how long the grip has been
    weak, and `strained_total` what the device did in the last two seconds of it in the mean;
    `calm` is how long all has gone well since the last step, and `drain_s` how long what piled up
    may still take.
    """

    stated: float
    capacity: float
    may_rise: bool = False
    ceiling: float | None = None
    is_climbing: bool = False
    usual_latency_s: float | None = None
    former: float | None = None
    is_deep: bool = False
    trouble_s: float = 0.0
    strained_total: float = 0.0
    calm: CalmTime = field(default_factory=CalmTime)
    drain_s: float = 0.0

    @property
    def is_on_trial(self) -> bool:
        """Whether the device has yet to show that it does as much."""
        return self.may_rise and self.ceiling is not None and self.capacity > self.ceiling


def first_track(stated: float, *, may_rise: bool) -> Track:
    """Before anything is known but what the policy states."""
    ceiling = stated if may_rise else None
    return Track(
        stated=stated, capacity=stated, may_rise=may_rise, ceiling=ceiling, is_climbing=may_rise
    )


def followed(track: Track, seen: Look) -> Track:
    """The track after one more period."""
    has_lost = has_no_hold(seen)
    is_weak = is_contended(seen) and seen.waited_ratio < _FIRM_RATIO * seen.active_groups
    track = replace(track, drain_s=max(0.0, track.drain_s - seen.elapsed_s))
    if has_lost or (is_weak and not track.is_deep) or _is_strained(track, seen):
        track = _in_trouble(track, seen)
        has_waited = track.drain_s == 0 and track.trouble_s >= _TROUBLE_S
        return _lowered(track, seen, has_lost=has_lost) if has_waited else track
    calm = CalmTime() if holds_nobody(seen) else track.calm.and_then(seen)
    if track.drain_s > 0:
        return replace(track, trouble_s=0.0, calm=calm)
    return _probed(replace(track, trouble_s=0.0, calm=calm, former=None))


def _is_strained(track: Track, seen: Look) -> bool:
    """Whether requests take much longer on trial than before it."""
    if not track.is_on_trial or track.usual_latency_s is None:
        return False
    return seen.queue > _STRAINED_RATIO * track.usual_latency_s * seen.total


def _in_trouble(track: Track, seen: Look) -> Track:
    trouble_s = track.trouble_s + seen.elapsed_s
    newest = seen.elapsed_s / max(seen.elapsed_s, min(trouble_s, _TROUBLE_S))
    total = track.strained_total if track.trouble_s > 0 else seen.total
    return replace(
        track,
        trouble_s=trouble_s,
        strained_total=total + newest * (seen.total - total),
        calm=CalmTime(),
    )


def real_capacity(track: Track, seen: Look) -> float:
    """What a device in trouble can do.

    One look alone says too little where groups come or go within it, be it the first or the last.
    """
    return max(track.strained_total, seen.total)


def _lowered(track: Track, seen: Look, *, has_lost: bool) -> Track:
    """Below the total, so that what piled up drains; after a trial a little below its beginning.

    What proved right may be so near to the device that requests pile up slowly, so it counts
    for a step less. If they pile up even then while groups wait, it was not the capacity.
    """
    track = replace(track, is_climbing=False, usual_latency_s=None)
    if track.is_on_trial and track.ceiling is not None:
        return replace(
            track,
            capacity=_RETREAT_RATIO * track.ceiling,
            ceiling=track.ceiling / _PROBE_RATIO,
            former=None,
            trouble_s=0.0,
            drain_s=_DRAIN_S,
        )
    if track.former is not None and not has_lost:
        ceiling = track.former if track.may_rise else None
        return replace(track, capacity=track.former, ceiling=ceiling, former=None, is_deep=True)
    real = real_capacity(track, seen)
    lower, ceiling = _BELOW_RATIO * real, _CEILING_RATIO * real
    if lower >= track.capacity:
        return track
    return replace(
        track,
        capacity=lower,
        ceiling=ceiling if track.may_rise else min(ceiling, track.stated),
        former=track.capacity,
        trouble_s=0.0,
        drain_s=_DRAIN_S,
    )


def _probed(track: Track) -> Track:
    """Upward by a step: up to the ceiling, and beyond it seldom.

    A capacity that may not rise stays where the policy put it, if the device never failed it.
    """
    if track.ceiling is None or track.calm.elapsed_s < _PROBE_PERIOD_S:
        return track
    if track.capacity * _PROBE_RATIO <= track.ceiling:
        return replace(track, capacity=track.capacity * _PROBE_RATIO, calm=CalmTime())
    if track.may_rise:
        return _tried(track)
    if track.calm.elapsed_s >= _CEILING_PERIOD_S:
        ceiling = min(track.ceiling * _PROBE_RATIO, track.stated)
        return replace(track, ceiling=ceiling, calm=CalmTime())
    return track


def _tried(track: Track) -> Track:
    """A step beyond what has proved right, if the device did all that it was let do.

    Never further beyond what it did than by the step.
    """
    if not _keeps_up(track):
        return replace(track, calm=CalmTime())
    if track.is_on_trial:
        track = replace(track, ceiling=track.capacity, is_climbing=True)
    if not track.is_climbing and track.calm.elapsed_s < _CEILING_PERIOD_S:
        return track
    usual_s = track.calm.latency_s if track.usual_latency_s is None else track.usual_latency_s
    return replace(
        track,
        capacity=_PROBE_RATIO * min(track.capacity, track.calm.total),
        usual_latency_s=usual_s,
        calm=CalmTime(),
    )


def _keeps_up(track: Track) -> bool:
    """Whether the device did what the capacity says, and needed no longer than usual."""
    usual_s, took_s = track.usual_latency_s, track.calm.latency_s
    is_slow = usual_s is not None and took_s is not None and took_s > _STRAINED_RATIO * usual_s
    return track.calm.total >= _KEEPS_UP_RATIO * track.capacity and not is_slow
