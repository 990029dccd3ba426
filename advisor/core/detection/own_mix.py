"""What our own load on a datastore is made of: how large, how much of it reads, and whose it is.

As much load in all may still be another load. What a byte or a write costs differs from device to
device, and a device that is busy gives no more however many more I/Os wait for it. So a past
window tells what today's load makes only if its I/Os were alike and the same workloads sent them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.number_checks import check_amount, check_ratio

ALIKE_SIZE = 1.25
"""Larger by this factor, I/Os take less than `RISE` times as long even where every byte counts."""
ALIKE_READS = 0.1
"""So far apart the parts of reads may lie."""
NOTABLE = 0.05
"""A workload that lacks less than this part of the whole load is as it was, give or take noise."""
OTHERS_RATIO = 0.2
"""Workloads that together lack more than this part make it the load of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMix:
    """The I/Os of one window; `by_workload` is device time per second, each named once.

    `iops` weighs the others in a mean; `read_ratio` and `mean_io_bytes` None were not measured.
    """

    iops: float
    read_ratio: float | None
    mean_io_bytes: float | None
    by_workload: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        check_amount("iops", self.iops)
        check_ratio("read_ratio", self.read_ratio)
        check_amount("mean_io_bytes", self.mean_io_bytes)
        for name, load in self.by_workload:
            check_amount(f"load of {name}", load)


def mean_mix(mixes: Sequence[OwnMix]) -> OwnMix | None:
    """Over all I/Os of the windows, a workload that one does not name at 0; None without any."""
    if not mixes:
        return None
    loads = [dict(one.by_workload) for one in mixes]
    return OwnMix(
        iops=sum(one.iops / len(mixes) for one in mixes),
        read_ratio=_weighted([(one.read_ratio, one.iops) for one in mixes]),
        mean_io_bytes=_weighted([(one.mean_io_bytes, one.iops) for one in mixes]),
        by_workload=tuple(
            (name, sum(one.get(name, 0.0) / len(loads) for one in loads))
            for name in sorted(set().union(*loads))
        ),
    )


def _weighted(pairs: Sequence[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in pairs if value is not None]
    whole = sum(weight for _, weight in known)
    if whole <= 0:
        return None
    mean = sum(value * (weight / whole) for value, weight in known)
    # Rounding must not carry a part beyond 1.
    return min(mean, max(value for value, _ in known))


def difference(past: OwnMix, today: OwnMix, *, part: float) -> str:
    """In what the past window was another load than this part of today's; empty if in nothing."""
    if today.mean_io_bytes is not None and not _is_alike(past.mean_io_bytes, today.mean_io_bytes):
        return "I/Os of another size"
    if today.read_ratio is not None and (
        past.read_ratio is None or abs(past.read_ratio - today.read_ratio) > ALIKE_READS
    ):
        return "another part of reads"
    name = _other_workload(past, today, part)
    return f"less load of {name}" if name else ""


def _is_alike(past: float | None, today: float) -> bool:
    return past is not None and past <= ALIKE_SIZE * today and today <= ALIKE_SIZE * past


def _other_workload(past: OwnMix, today: OwnMix, part: float) -> str:
    """The workload that most of the missing load belongs to; empty if little is missing."""
    whole = sum(load for _, load in today.by_workload)
    before = dict(past.by_workload)
    lacks = [(part * load - before.get(name, 0.0), name) for name, load in today.by_workload]
    notable = [(lack, name) for lack, name in lacks if lack > NOTABLE * whole]
    if sum(lack for lack, _ in notable) <= OTHERS_RATIO * whole:
        return ""
    return max(notable)[1]
