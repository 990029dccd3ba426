"""What a move of virtual disks would do: normalised load, latency at both ends, benefit, cost.

Load after BASIL (Gulati et al., FAST'10), latency after Pesto (Gulati et al., SoCC'11).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.core.placement.disk_inputs import DatastoreState, PlacementInputs, VdiskState

K_OUTSTANDING, K_KILOBYTES, K_READ, K_RANDOM = 1.3, 51.0, 1.4, 0.7
"""BASIL's constants: what each term is worth when the others are small."""


def workload_load(vdisk: VdiskState) -> float:
    """BASIL's size of a workload: how much latency it makes on a given device, up to a factor."""
    return (
        (K_OUTSTANDING + vdisk.outstanding_io)
        * (K_KILOBYTES + vdisk.mean_io_bytes / 1000)
        * (K_READ + vdisk.read_ratio)
        * (K_RANDOM + vdisk.random_ratio)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatastoreLoad:
    """A datastore with what lies on it: outstanding I/O, throughput, latency, normalised load.

    `latency_ms` and `normalized` are None where the device is not known.
    """

    outstanding_io: float
    iops: float
    latency_ms: float | None
    normalized: float | None


def load_of(datastore: DatastoreState, vdisks: Sequence[VdiskState]) -> DatastoreLoad:
    """The load of a datastore with these virtual disks on it.

    Normalised load is the workloads' size over the device's power, 1 / slope.
    """
    outstanding_io = datastore.other_outstanding_io + sum(one.outstanding_io for one in vdisks)
    latency_ms = normalized = None
    if datastore.intercept_ms is not None and datastore.slope_ms is not None:
        latency_ms = datastore.intercept_ms + datastore.slope_ms * outstanding_io
        normalized = datastore.slope_ms * sum(workload_load(one) for one in vdisks)
    return DatastoreLoad(
        outstanding_io=outstanding_io,
        iops=datastore.other_iops + sum(one.iops for one in vdisks),
        latency_ms=latency_ms,
        normalized=normalized,
    )


def imbalance(loads: Mapping[str, DatastoreLoad]) -> float:
    """(most - least) / mean of the normalised loads; 0 with fewer than two known devices."""
    known = [one.normalized for one in loads.values() if one.normalized is not None]
    if len(known) < 2 or sum(known) == 0:
        return 0.0
    return (max(known) - min(known)) * len(known) / sum(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEffect:
    """Latencies before and after at both ends, and what the move gives and takes.

    `benefit` and `cost` are I/Os times milliseconds: latency saved over the horizon, latency
    added by the copying. `improvement_ratio` is the saved part of the latency of all I/Os at both
    ends.
    """

    source_before_ms: float
    source_after_ms: float
    target_before_ms: float
    target_after_ms: float
    copy_s: float
    benefit: float
    cost: float
    improvement_ratio: float


def move_effect(
    moved: Sequence[VdiskState],
    source: tuple[DatastoreState, DatastoreLoad],
    target: tuple[DatastoreState, DatastoreLoad],
    inputs: PlacementInputs,
) -> MoveEffect | None:
    """Predict the move; None where one of the devices is not known.

    A client keeps more outstanding on a slower device, so what moves is scaled by the slopes.
    """
    (src, src_load), (dst, dst_load) = source, target
    if src.slope_ms is None or dst.slope_ms is None:
        return None
    if src_load.latency_ms is None or dst_load.latency_ms is None:
        return None
    outstanding_io = sum(one.outstanding_io for one in moved)
    iops = sum(one.iops for one in moved)
    src_before, dst_before = src_load.latency_ms, dst_load.latency_ms
    src_after = src_before - src.slope_ms * outstanding_io
    dst_after = dst_before + dst.slope_ms * outstanding_io * dst.slope_ms / src.slope_ms
    saved_per_s = (
        iops * (src_before - dst_after)
        + (src_load.iops - iops) * (src_before - src_after)
        + dst_load.iops * (dst_before - dst_after)
    )
    suffered_per_s = src_load.iops * src_before + dst_load.iops * dst_before
    size_bytes = sum(one.size_bytes for one in moved)
    copy_s = size_bytes / min(src.copy_bytes_per_s, dst.copy_bytes_per_s)
    added_per_s = inputs.copy_outstanding_io * (
        src_load.iops * src.slope_ms + dst_load.iops * dst.slope_ms
    )
    return MoveEffect(
        source_before_ms=src_before,
        source_after_ms=src_after,
        target_before_ms=dst_before,
        target_after_ms=dst_after,
        copy_s=copy_s,
        benefit=saved_per_s * inputs.horizon_s,
        cost=added_per_s * copy_s,
        improvement_ratio=saved_per_s / suffered_per_s if suffered_per_s > 0 else 0.0,
    )
