"""The composition of our own load on a datastore: I/O size, share of reads, and workloads.

The same total may be another load. The cost of a byte or a write differs between devices, and a
busy device gives no more however many I/Os wait. So a past window is comparable with today's only
if its I/Os were similar and came from the same workloads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.number_checks import check_amount, check_ratio

ALIKE_SIZE = 1.25
"""I/Os larger by this factor take less than `RISE` times as long, even if every byte counts."""
ALIKE_READS = 0.1
"""Allowed difference between shares of reads."""
NOTABLE = 0.05
"""A workload that lacks less than this fraction of the whole load counts as unchanged."""
ABSENT_RATIO = 0.1
"""A workload that had at most this fraction of its load was not there: its burst is no calm."""
OTHERS_RATIO = 0.2
"""If workloads together lack more than this fraction, the load is not comparable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMix:
    """The I/Os of one window; `by_workload` is device time per second.

    `iops` is the weight in a mean; `read_ratio` and `mean_io_bytes` are None if not measured.
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
    """The mean over all I/Os of the windows; absent workloads count as 0. None without windows."""
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
    # Rounding must not give a ratio above 1.
    return min(mean, max(value for value, _ in known))


def difference(past: OwnMix, today: OwnMix, *, part: float) -> str:
    """How the past window differs from this fraction of today's load; empty if it does not."""
    if today.mean_io_bytes is not None and not _is_alike(past.mean_io_bytes, today.mean_io_bytes):
        return "I/Os of another size"
    if today.read_ratio is not None and (
        past.read_ratio is None or abs(past.read_ratio - today.read_ratio) > ALIKE_READS
    ):
        return "another share of reads"
    name = _other_workload(past, today, part)
    return f"less load of {name}" if name else ""


def _is_alike(past: float | None, today: float) -> bool:
    return past is not None and past <= ALIKE_SIZE * today and today <= ALIKE_SIZE * past


def _other_workload(past: OwnMix, today: OwnMix, part: float) -> str:
    """The workload with most of the missing load; empty if little is missing."""
    whole = sum(load for _, load in today.by_workload)
    before = dict(past.by_workload)
    absent = [
        (load, name)
        for name, load in today.by_workload
        if load > NOTABLE * whole and before.get(name, 0.0) <= ABSENT_RATIO * load
    ]
    if absent:
        return max(absent)[1]
    lacks = [(part * load - before.get(name, 0.0), name) for name, load in today.by_workload]
    notable = [(lack, name) for lack, name in lacks if lack > NOTABLE * whole]
    if sum(lack for lack, _ in notable) <= OTHERS_RATIO * whole:
        return ""
    return max(notable)[1]
