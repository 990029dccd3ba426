"""Whether a workload wants more of a device than it gets: what was measured decides.

By Little's law a workload whose I/Os take R each and come at a rate X has X·R of them in flight.
Four witnesses tell of that, the first that speaks decides:

1. A queue in front of the device: I/Os held for their share by iocost (`cost.wait`), or requests
   that an NFS client has not sent yet. Whoever has one wants more, however much that is.
2. What was in flight, by the times that a hypervisor or an NFS client counts.
3. Pressure (PSI), where it agrees with Little's law. The kernel counts tasks that sleep for I/O:
   asynchronous I/O has none while it starves, and a service that sleeps at its io_uring has one
   all the time while it does nothing. A limit of the workload's own holds I/Os in front of the
   device, so whoever is limited may sleep longer than its I/Os are in flight.
4. Nothing: how much the workload wants is not known.

All columns are (windows, allocations); NaN is not known.
"""

from dataclasses import dataclass

import numpy as np

from advisor.core.waterfill import Booleans, Floats

LEAST_WAIT = 0.05
"""Whoever waits for less than this part of the time, or has fewer I/Os in flight, hardly waits."""
LEAST_UNSEEN = 2 * LEAST_WAIT
"""With so many I/Os in flight somebody must sleep, unless they are asynchronous."""
ELSEWHERE = 4.0
"""Whoever sleeps for so many times what is in flight here sleeps for something else."""
OWN_PART = 0.25
"""I/Os that take less than this part of what the device takes are not kept waiting by it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waited:
    """What was measured of each workload on a device.

    `iops` are its own, `device_ms` is the mean time of an I/O of the device on its host.
    `pressure` is the part of the time in which some task slept for I/O, `held` that in which
    iocost kept some I/O back, `unsent` how many requests a client held back. `in_flight` I/Os took
    `own_ms` each. `limited` is where a limit of its own holds it back, or may do so.
    """

    iops: Floats
    device_ms: Floats
    pressure: Floats
    held: Floats
    unsent: Floats
    in_flight: Floats
    own_ms: Floats
    limited: Booleans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wants:
    """`more` is 1 where a workload wants more than it gets, 0 where it does not.

    `queued` is where a queue in front of the device shows that.
    """

    more: Floats
    queued: Booleans


def wants(seen: Waited) -> Wants:
    """What the witnesses say together."""
    queued = (seen.held >= LEAST_WAIT) | (seen.unsent >= LEAST_WAIT)
    more = _of_pressure(seen)
    known = ~np.isnan(seen.in_flight)
    more[known] = _of_flight(seen)[known]
    more[queued] = 1.0
    return Wants(more=more, queued=queued)


def _of_flight(seen: Waited) -> Floats:
    """By what was in flight; I/Os that a cache answers do not wait, however slow the device."""
    is_kept = ~(seen.own_ms < OWN_PART * seen.device_ms)
    return np.where((seen.in_flight >= LEAST_WAIT) & is_kept, 1.0, 0.0)


def _of_pressure(seen: Waited) -> Floats:
    """By pressure where Little's law does not contradict it."""
    # Where it is not known how long I/Os take, nothing contradicts.
    in_flight = np.where(seen.iops > 0, seen.iops * seen.device_ms / 1000, seen.iops)
    waits = (seen.pressure >= LEAST_WAIT) & (seen.iops > 0)
    waits &= seen.limited | ~(seen.pressure > ELSEWHERE * in_flight)
    sleeps_not = (seen.pressure < LEAST_WAIT) & ~(in_flight >= LEAST_UNSEEN)
    return np.where(waits, 1.0, np.where(sleeps_not, 0.0, np.nan))
