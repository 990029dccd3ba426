"""What a move of virtual disks would do: normalised load, latency at both ends, benefit, cost.

Load after BASIL (Gulati et al., FAST'10), latency after Pesto (Gulati et al., SoCC'11).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from advisor.advice.placement.decide.device_line import ChosenLines, LineSource, Mix, choose_lines
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.core.device.device_model import DeviceLine

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
class Traffic:
    """I/Os per second with the sums that their mix follows from."""

    iops: float = 0.0
    bytes_per_s: float = 0.0
    reads_per_s: float = 0.0

    @property
    def mix(self) -> Mix | None:
        """Mean size and part of reads; None without I/O."""
        if self.iops <= 0:
            return None
        return Mix(
            mean_io_bytes=self.bytes_per_s / self.iops,
            read_ratio=min(max(self.reads_per_s / self.iops, 0.0), 1.0),
        )

    def with_change(self, more: "Traffic", less: "Traffic") -> "Traffic":
        """The traffic with some added and some taken away, never below 0."""
        return Traffic(
            iops=max(self.iops + more.iops - less.iops, 0.0),
            bytes_per_s=max(self.bytes_per_s + more.bytes_per_s - less.bytes_per_s, 0.0),
            reads_per_s=max(self.reads_per_s + more.reads_per_s - less.reads_per_s, 0.0),
        )


def traffic_of(vdisks: Sequence[VdiskState]) -> Traffic:
    """The traffic of these virtual disks together."""
    return Traffic(
        iops=sum(one.iops for one in vdisks),
        bytes_per_s=sum(one.iops * one.mean_io_bytes for one in vdisks),
        reads_per_s=sum(one.iops * one.read_ratio for one in vdisks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatastoreLoad:
    """A datastore with what lies on it: outstanding I/O, throughput, latency, normalised load.

    `latency_ms`, `normalized` and `line` are None where the device is not known. `traffic` is
    that of the virtual disks alone: the mix of other load is unknown.
    """

    outstanding_io: float
    iops: float
    traffic: Traffic
    latency_ms: float | None
    normalized: float | None
    line: DeviceLine | None
    line_source: LineSource | None


def load_of(datastore: DatastoreState, vdisks: Sequence[VdiskState]) -> DatastoreLoad:
    """The load of a datastore with these virtual disks on it.

    Normalised load is the workloads' size over the device's power, 1 / slope.
    """
    outstanding_io = datastore.other_outstanding_io + sum(one.outstanding_io for one in vdisks)
    traffic = traffic_of(vdisks)
    chosen = lines_of(datastore, [traffic.mix])
    latency_ms = normalized = line = None
    if chosen is not None:
        line = chosen.lines[0]
        latency_ms = _finite(line.intercept_ms + line.slope_ms * outstanding_io)
        normalized = _finite(line.slope_ms * sum(workload_load(one) for one in vdisks))
    elif datastore.is_known and not vdisks:
        # Whatever the slope, nothing times it is nothing.
        normalized = 0.0
    return DatastoreLoad(
        outstanding_io=outstanding_io,
        iops=datastore.other_iops + traffic.iops,
        traffic=traffic,
        latency_ms=latency_ms,
        normalized=normalized,
        line=line,
        line_source=chosen.source if chosen else None,
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def lines_of(datastore: DatastoreState, mixes: Sequence[Mix | None]) -> ChosenLines | None:
    """The datastore's line for each mix."""
    return choose_lines(datastore.seen_model, datastore.fitted_line, mixes)


def imbalance(loads: Mapping[str, DatastoreLoad]) -> float:
    """(most - least) / mean of the normalised loads; 0 with fewer than two known devices."""
    known = [one.normalized for one in loads.values() if one.normalized is not None]
    if len(known) < 2 or max(known) == 0:
        return 0.0
    # In parts of the largest, so that no sum is too large for a number.
    parts = [one / max(known) for one in known]
    return (max(parts) - min(parts)) * len(parts) / sum(parts)


def moved_outstanding(vdisk: VdiskState, source: DatastoreState, target: DatastoreState) -> float:
    """What a client keeps outstanding after a move: more on a slower device, as the slopes are."""
    mix = traffic_of([vdisk]).mix
    here, there = lines_of(source, [mix]), lines_of(target, [mix])
    if here is None or there is None:
        return vdisk.outstanding_io
    scaled = vdisk.outstanding_io * (there.lines[0].slope_ms / here.lines[0].slope_ms)
    return scaled if isfinite(scaled) else vdisk.outstanding_io


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEffect:
    """Latencies before and after at both ends, and what the move gives and takes.

    `benefit` and `cost` are I/Os times milliseconds: latency saved over the horizon, latency
    added by the copying. `improvement_ratio` is the saved part of the latency of all I/Os at both
    ends. The lines are what the latencies at each end come from.
    """

    source_before_ms: float
    source_after_ms: float
    target_before_ms: float
    target_after_ms: float
    copy_s: float
    benefit: float
    cost: float
    improvement_ratio: float
    source_line: LineSource = LineSource.FITTED_LINE
    target_line: LineSource = LineSource.FITTED_LINE

    @property
    def net(self) -> float:
        """I/Os times milliseconds that are left of the benefit when the copying is paid."""
        return self.benefit - self.cost

    @property
    def is_finite(self) -> bool:
        """Whether no number was too large."""
        latencies = self.source_before_ms, self.source_after_ms, self.target_before_ms
        others = self.target_after_ms, self.copy_s, self.benefit, self.cost
        return all(isfinite(one) for one in (*latencies, *others, self.improvement_ratio))


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """A datastore before and after: what is outstanding, and the lines that hold."""

    before_ms: float
    after_ms: float
    lines: ChosenLines


def _end(
    end: tuple[DatastoreState, DatastoreLoad],
    *,
    comes: Sequence[VdiskState],
    goes: Sequence[VdiskState],
    others: DatastoreState,
) -> _End | None:
    store, load = end
    after = load.traffic.with_change(traffic_of(comes), traffic_of(goes))
    lines = lines_of(store, [load.traffic.mix, after.mix])
    if lines is None:
        return None
    added = sum(moved_outstanding(one, others, store) for one in comes)
    left = max(load.outstanding_io - sum(one.outstanding_io for one in goes), 0.0)
    old, new = lines.lines
    return _End(
        before_ms=old.intercept_ms + old.slope_ms * load.outstanding_io,
        after_ms=new.intercept_ms + new.slope_ms * (left + added),
        lines=lines,
    )


def move_effect(
    moved: Sequence[VdiskState],
    source: tuple[DatastoreState, DatastoreLoad],
    target: tuple[DatastoreState, DatastoreLoad],
    inputs: PlacementInputs,
    *,
    back: Sequence[VdiskState] = (),
) -> MoveEffect | None:
    """Predict the move, or the exchange for what goes `back`; None where a device is not known.

    The copying of both is counted from source to target and back, one after the other.
    """
    (src, src_load), (dst, dst_load) = source, target
    here = _end(source, comes=back, goes=moved, others=dst)
    there = _end(target, comes=moved, goes=back, others=src)
    if here is None or there is None:
        return None
    iops_out, iops_back = sum(one.iops for one in moved), sum(one.iops for one in back)
    saved_per_s = (
        iops_out * (here.before_ms - there.after_ms)
        + iops_back * (there.before_ms - here.after_ms)
        + max(src_load.iops - iops_out, 0.0) * (here.before_ms - here.after_ms)
        + max(dst_load.iops - iops_back, 0.0) * (there.before_ms - there.after_ms)
    )
    suffered_per_s = src_load.iops * here.before_ms + dst_load.iops * there.before_ms
    copy_s = copy_time_s([*moved, *back], src, dst)
    added_per_s = inputs.copy_outstanding_io * (
        src_load.iops * here.lines.lines[0].slope_ms
        + dst_load.iops * there.lines.lines[0].slope_ms
    )
    effect = MoveEffect(
        source_before_ms=here.before_ms,
        source_after_ms=here.after_ms,
        target_before_ms=there.before_ms,
        target_after_ms=there.after_ms,
        copy_s=copy_s,
        benefit=saved_per_s * inputs.horizon_s,
        cost=added_per_s * copy_s,
        improvement_ratio=saved_per_s / suffered_per_s if suffered_per_s > 0 else 0.0,
        source_line=here.lines.source,
        target_line=there.lines.source,
    )
    return effect if effect.is_finite else None


def copy_time_s(
    vdisks: Sequence[VdiskState], source: DatastoreState, target: DatastoreState
) -> float:
    """How long copying takes at the rate of the slower end."""
    size_bytes = sum(one.size_bytes for one in vdisks)
    return size_bytes / min(source.copy_bytes_per_s, target.copy_bytes_per_s)
