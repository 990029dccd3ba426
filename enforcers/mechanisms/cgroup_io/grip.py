"""Whether iocost has a grip on a device, or lets all wait in the device itself. Pure.

Weights act in iocost alone. So where requests pile up in the device although iocost holds nobody
back, they are set and do nothing.
"""

from dataclasses import dataclass, replace

from enforcers.mechanisms.cgroup_io.device_look import Look

NO_GRIP_S = 10.0
WAITED_RATIO = 0.02
"""Less waiting than this part of the time is nobody's."""
# A device with so few requests has none that waits for another.
_CALM_QUEUE = 2.0
# A device at its limit is beyond this, for what it cannot do piles up.
_STRAINED_RATIO = 2.0
# A device may be slower for good; one fast moment must not count for ever.
_FORGETTING = 1.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Grip:
    """How long there has been none, and how long a request takes when few are there.

    `calm_s` is the time in the device for each I/O, or byte; None: never seen with few.
    """

    lost_s: float = 0.0
    calm_s: float | None = None

    @property
    def is_lost(self) -> bool:
        """Whether there has been none for so long that it is no chance."""
        return self.lost_s >= NO_GRIP_S


def next_grip(grip: Grip, seen: Look) -> Grip:
    """After one more period.

    A device that takes no longer than with few requests is one that works on many at once:
    nobody is in another's way, so nobody need be held back.
    """
    took_s = seen.queue / seen.total if seen.total > 0 else None
    if took_s is not None and seen.queue <= _CALM_QUEUE:
        calm_s = took_s if grip.calm_s is None else min(took_s, _FORGETTING * grip.calm_s)
        return Grip(calm_s=calm_s)
    is_strained = took_s is None or grip.calm_s is None or took_s > _STRAINED_RATIO * grip.calm_s
    has_lost = has_no_hold(seen) and is_strained
    return replace(grip, lost_s=grip.lost_s + seen.elapsed_s if has_lost else 0.0)


def has_no_hold(seen: Look) -> bool:
    """Whether several groups fill the device, and iocost let everybody through."""
    return is_contended(seen) and holds_nobody(seen)


def is_contended(seen: Look) -> bool:
    """Whether several groups fill the device."""
    return seen.is_pressed and seen.active_groups > 1


def holds_nobody(seen: Look) -> bool:
    """Whether iocost let everybody through."""
    return seen.waited_ratio < WAITED_RATIO
