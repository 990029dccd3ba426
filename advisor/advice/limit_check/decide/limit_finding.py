"""What a limit does to one unit, and what a person can do about it."""

import math
from enum import StrEnum
from statistics import fmean

from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.limit_check.decide.limit_unit import LimitUnit, unit_of
from advisor.core.enumeration import listed
from advisor.core.iosize import counted_ios
from advisor.core.resource import IoCount, LimitScope

HOLD_TOLERANCE = 0.05
"""So far above its limit a mean rate may lie: limits are released in slices."""
THROTTLE_TOLERANCE = 0.25
"""So far below: a limiter that worked was seen to let 82 % to 100 % of its limit pass."""
CLEARLY_ABOVE = 0.25
"""A window so far above the limit counts as busy, whether or not more was waiting."""
ONE_AT_A_TIME = 0.5
"""Who has so many I/Os at the device spends most of the time there, if it sends one at a time."""
ENOUGH_BUSY_WINDOWS = 3
"""What shows in fewer is chance."""
MATCH_TOLERANCE = 0.1
"""A rate this near to what another reading of the limit lets pass is explained by it."""


class LimitFinding(StrEnum):
    """What a limit does."""

    HOLDS = "holds"
    NOT_REACHED = "not_reached"
    UNKNOWN = "unknown"
    DEVICE_BOUND = "device_bound"
    NOT_HOLDING = "not_holding"
    OVER_THROTTLED = "over_throttled"
    POOLED = "pooled"
    PER_VDISK = "per_vdisk"
    COUNTED_PER_32_KIB = "counted_per_32_kib"
    COUNTED_PLAIN = "counted_plain"
    INCOMPLETE = "incomplete"


MISBEHAVIOUR = frozenset(
    {
        LimitFinding.NOT_HOLDING,
        LimitFinding.OVER_THROTTLED,
        LimitFinding.POOLED,
        LimitFinding.PER_VDISK,
        LimitFinding.COUNTED_PER_32_KIB,
        LimitFinding.COUNTED_PLAIN,
        LimitFinding.INCOMPLETE,
    }
)
"""Findings that somebody has to do something about."""

ACTIONS = {
    LimitFinding.HOLDS: "nothing to do",
    LimitFinding.NOT_REACHED: "nothing to do",
    LimitFinding.UNKNOWN: "measure whether more is waiting, for example by the queue's length",
    LimitFinding.DEVICE_BOUND: "look at the datastore's congestion, not at the limit",
    LimitFinding.NOT_HOLDING: "compare what the host read back with what it was told; buffered "
    "writes and network file systems pass a cgroup's limit by, and ESXi 5.5 needed "
    "Disk.SchedulerWithReservation=0",
    LimitFinding.OVER_THROTTLED: "raise the limit or change the mechanism: with several requests "
    "at a time this one lets far less pass than it should",
    LimitFinding.POOLED: "state the limits as pooled, or give each virtual disk a datastore or "
    "mechanism of its own",
    LimitFinding.PER_VDISK: "state the limits per virtual disk, or put the whole pool on the one "
    "that needs it",
    LimitFinding.COUNTED_PER_32_KIB: "state the count per 32 KiB and raise the limit to what is "
    "meant, or limit bytes instead",
    LimitFinding.COUNTED_PLAIN: "state plain I/Os, or limit bytes instead",
    LimitFinding.INCOMPLETE: "give every virtual disk of the workload a limit",
}


def find(unit: LimitUnit, inputs: LimitInputs) -> tuple[LimitFinding, str]:
    """The finding with its numbers."""
    if unit.limit_iops is None:
        have = "has" if len(unit.unlimited) == 1 else "have"
        names = listed(unit.unlimited)
        return LimitFinding.INCOMPLETE, f"{names} {have} no limit, so the pool has none"
    if unit.passes is None:
        return LimitFinding.UNKNOWN, "I/Os are counted by size, and no size was measured"
    if _passes_it(unit, unit.passes):
        return _above(unit.limit_iops, unit.passes, busy_rate(unit), inputs)
    held_back = unit.rates_with_more_waiting
    if len(held_back) >= ENOUGH_BUSY_WINDOWS:
        return _held_back(unit, unit.limit_iops, unit.passes, fmean(held_back), inputs)
    rate = fmean(unit.rates)
    if rate >= unit.passes * (1 - THROTTLE_TOLERANCE):
        return LimitFinding.HOLDS, f"{rate:.0f} IOPS within {unit.passes:.0f}"
    if None in unit.waiting:
        text = (
            f"{rate:.0f} of {unit.passes:.0f} IOPS, and nobody can tell whether more was waiting"
        )
        return LimitFinding.UNKNOWN, text
    waited = (
        f"more was waiting in {len(held_back)} windows" if held_back else "nothing was waiting"
    )
    return LimitFinding.NOT_REACHED, f"{rate:.0f} of {unit.passes:.0f} IOPS, {waited}"


def busy_rate(unit: LimitUnit) -> float:
    """The mean rate while more was waiting or the limit was clearly passed; over all if rarely.

    Idle windows are left out, or a limit that is passed now and then would seem to hold.
    """
    most = math.inf if unit.passes is None else unit.passes * (1 + CLEARLY_ABOVE)
    busy = [
        rate for rate, more in zip(unit.rates, unit.waiting, strict=True) if more or rate > most
    ]
    return fmean(busy if len(busy) >= ENOUGH_BUSY_WINDOWS else unit.rates)


def _above(
    limit: float, passes: float, rate: float, inputs: LimitInputs
) -> tuple[LimitFinding, str]:
    text = f"{rate:.0f} IOPS pass a limit of {passes:.0f}"
    pool = _pool_that_keeps_its_limit(inputs)
    if pool is not None:
        return LimitFinding.POOLED, f"{text}, yet {pool}: the limits are pooled"
    if inputs.count is IoCount.PER_32_KIB and rate <= limit * (1 + HOLD_TOLERANCE):
        return LimitFinding.COUNTED_PLAIN, f"{text}, yet {limit:.0f} if I/Os of any size count one"
    return LimitFinding.NOT_HOLDING, f"{text}: it does not hold"


def _pool_that_keeps_its_limit(inputs: LimitInputs) -> str | None:
    """What all virtual disks keep to together, where each has a limit and one passes its own."""
    if inputs.scope is LimitScope.POOLED or len(inputs.vdisks) < 2:
        return None
    pool = unit_of(inputs, inputs.vdisks, "all virtual disks")
    each = [unit_of(inputs, [one], one.vdisk) for one in inputs.vdisks]
    passed = [one for one in each if one.passes is not None and _passes_it(one, one.passes)]
    if pool.passes is None or _passes_it(pool, pool.passes) or not passed:
        return None
    return f"all virtual disks together keep to {pool.passes:.0f}"


def _passes_it(unit: LimitUnit, passes: float) -> bool:
    return busy_rate(unit) > passes * (1 + HOLD_TOLERANCE)


def _held_back(
    unit: LimitUnit, limit: float, passes: float, rate: float, inputs: LimitInputs
) -> tuple[LimitFinding, str]:
    """What holds it back to this rate while more is waiting."""
    if rate >= passes * (1 - THROTTLE_TOLERANCE):
        return LimitFinding.HOLDS, f"{rate:.0f} IOPS within {passes:.0f}, with more waiting"
    text = f"{rate:.0f} of {passes:.0f} IOPS pass while more is waiting"
    if inputs.count is IoCount.PLAIN and unit.mean_io_bytes is not None:
        count = counted_ios(unit.mean_io_bytes)
        if count > 1 and _near(rate, limit / count):
            size = f"I/Os of {unit.mean_io_bytes / 1024:.0f} KiB count {count} each"
            return LimitFinding.COUNTED_PER_32_KIB, f"{text}: {size}"
    if pool := _pool_that_keeps_its_limit(inputs):
        return (
            LimitFinding.POOLED,
            f"{text}, for another passes its own and {pool}: the limits are pooled",
        )
    if inputs.scope is LimitScope.POOLED and (name := _at_its_own(inputs)):
        return LimitFinding.PER_VDISK, f"{text}: {name} is held to its own limit"
    if unit.device_is_congested:
        return LimitFinding.DEVICE_BOUND, f"{text}, for the datastore is congested"
    if unit.at_device is not None and unit.at_device >= ONE_AT_A_TIME:
        text = (
            f"{text}, and the device has {unit.at_device:.2g} of its I/Os on average: who sends "
            "only so many at a time waits for the device, not for the limit"
        )
        return LimitFinding.UNKNOWN, text
    return LimitFinding.OVER_THROTTLED, f"{text}: it throttles too much"


def _at_its_own(inputs: LimitInputs) -> str | None:
    """A virtual disk that is held to its own limit while others leave some of theirs."""
    for one in inputs.vdisks:
        alone = unit_of(inputs, [one], one.vdisk)
        held_back = alone.rates_with_more_waiting
        enough = len(held_back) >= ENOUGH_BUSY_WINDOWS
        if enough and alone.passes is not None and _near(fmean(held_back), alone.passes):
            return one.vdisk
    return None


def _near(rate: float, expected: float) -> bool:
    return abs(rate - expected) <= MATCH_TOLERANCE * expected
