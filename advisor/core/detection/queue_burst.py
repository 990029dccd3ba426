"""Queues of a device that fill in bursts which means do not show: once a minute for 200 ms, say.

Few I/Os of a burst among many others change neither the mean latency nor the mean queue of a
window. What shows them are looks: how many I/Os were in flight at one moment. A look finds a
burst where they were many times the mean around it, so that the queue is that deep for a small
part of the time only; where they take longer than the threshold; and where the mean latency
around it says nothing of that. What comes at such a moment waits for those before it.

That wait is the number in flight over the rate at which the device completes them while it is
busy (the utilisation law: busy time over I/Os is the time of one). A queue of that depth which
empties takes at least half of its depth times that wait, which is no more than all that was in
flight around the look: that is a second bound (Little's law), and the shorter one is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.core.detection.micro_burst import (
    FEWEST_FULL,
    FEWEST_LOOKS,
    PER_SECOND_FROM,
    SPREAD,
    part_bounds,
)
from advisor.core.explanation.rounding import rounded
from advisor.core.quantity import significant, without_dust
from advisor.core.waterfill import Booleans, Floats

LEAST_DEPTH = 8
"""Fewer in flight are no burst: so many come together by chance."""
TIMES_MEAN = 8.0
"""A queue of so many times the mean is that deep for an eighth of the time at most."""
_BEFORE = 2
"""The look stands for the newest reading before an edge, which may be two windows back."""
_AROUND = _BEFORE + 1
_LOW, _HIGH = 10.0, 90.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceWindows:
    """What was measured of one device; NaN is not known.

    `in_flight` (windows + 1) is how many I/Os were in flight at the edges of windows. All else is
    (windows): means of `outstanding_io`, of `latency_ms` and of I/Os a second, and the part of the
    time with any I/O in flight.
    """

    window_s: float
    in_flight: Floats
    outstanding_io: Floats
    latency_ms: Floats
    iops: Floats
    busy_ratio: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBurst:
    """A queue that fills in bursts; `low_depth` to `high_depth` hold four fifths of those seen.

    `mean_depth` and `mean_ms` are means around the looks that found one, `wait_ms` is how long
    what comes then waits in the middle of them. `ratio` is the least part of the time (5 %).
    """

    hits: int
    looks: int
    low_depth: float
    high_depth: float
    mean_depth: float
    mean_ms: float
    wait_ms: float
    ratio: float

    @property
    def text(self) -> str:
        """What its queue does, in words that follow its name."""
        low, high = f"{self.low_depth:.0f}", f"{self.high_depth:.0f}"
        depth = low if low == high else f"{low} to {high}"
        return (
            f"has a queue that fills in bursts which means of ten seconds do not show: "
            f"{self.hits:,} of {self.looks:,} looks found {depth} I/Os in flight, while the mean "
            f"around them was {significant(self.mean_depth, 2)}; what comes then waits for "
            f"{without_dust(self.wait_ms)} ms, while the mean latency was "
            f"{without_dust(self.mean_ms)} ms; so deep it is for at least {self._part}"
        )

    @property
    def _part(self) -> str:
        """The part of the time in units that people feel."""
        if self.ratio >= PER_SECOND_FROM:
            return f"{self.ratio * 1000:.0f} ms of each second"
        if self.ratio * 60 >= 0.05:
            return f"{self.ratio * 60:.1f} s of each minute"
        return f"{self.ratio * 3600:.1f} s of each hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoQueueBurst:
    """Why no burst is told."""

    reason: str


def find_queue_burst(seen: DeviceWindows, *, threshold_ms: float) -> QueueBurst | NoQueueBurst:
    """Whether the queue fills in bursts that the means of windows do not show."""
    if len(seen.iops) < _AROUND:
        return NoQueueBurst(reason=f"0 looks at its queue, {FEWEST_LOOKS} are needed")
    depth = seen.in_flight[_BEFORE:-1]
    mean_depth, mean_ms = _around(seen.outstanding_io), _weighed_latency(seen)
    wait_ms = _wait_ms(seen, depth, mean_depth)
    known = ~np.isnan(depth + mean_depth + mean_ms + wait_ms)
    looks = int(known.sum())
    if looks < FEWEST_LOOKS:
        return NoQueueBurst(reason=f"{looks} looks at its queue, {FEWEST_LOOKS} are needed")
    deep = known & (depth >= np.maximum(LEAST_DEPTH, TIMES_MEAN * mean_depth))
    hidden = deep & (wait_ms > threshold_ms) & (mean_ms <= threshold_ms)
    found = _one_look_each(hidden, depth)
    hits = int(found.sum())
    if hits < FEWEST_FULL:
        return NoQueueBurst(
            reason=f"{hits} of {looks} looks found a queue that means do not show and that takes "
            f"longer than {without_dust(threshold_ms)} ms"
        )
    low_depth, high_depth = np.percentile(depth[found], [_LOW, _HIGH]).tolist()
    return QueueBurst(
        hits=hits,
        looks=looks,
        low_depth=rounded(low_depth),
        high_depth=rounded(high_depth),
        mean_depth=rounded(float(mean_depth[found].mean())),
        mean_ms=rounded(float(np.median(mean_ms[found]))),
        wait_ms=rounded(float(np.median(wait_ms[found]))),
        ratio=rounded(part_bounds(hits, looks, SPREAD)[0]),
    )


def _around(means: Floats) -> Floats:
    """The mean over the windows around each look: two before its edge, and one after it."""
    every: Floats = np.lib.stride_tricks.sliding_window_view(means, _AROUND).mean(axis=1)
    return every


def _weighed_latency(seen: DeviceWindows) -> Floats:
    """The same of the latency; each I/O counts once, and a window without I/O has none."""
    took = np.where(seen.iops > 0, seen.iops * seen.latency_ms, seen.iops)
    iops = _around(seen.iops)
    return _around(took) / np.where(iops > 0, iops, np.nan)


def _wait_ms(seen: DeviceWindows, depth: Floats, mean_depth: Floats) -> Floats:
    """How long so many take that device, and no longer than what was in flight allows."""
    iops = _around(seen.iops)
    each_ms = 1000 * _around(seen.busy_ratio) / np.where(iops > 0, iops, np.nan)
    in_flight_ms = 1000 * _AROUND * seen.window_s * mean_depth
    return np.minimum(depth * each_ms, 2 * in_flight_ms / np.maximum(depth, 1))


def _one_look_each(hidden: Booleans, depth: Floats) -> Booleans:
    """Without those that repeat the one before: a reading stands at edges until the next."""
    repeats = np.zeros_like(hidden)
    repeats[1:] = hidden[1:] & hidden[:-1] & (depth[1:] == depth[:-1])
    return hidden & ~repeats
