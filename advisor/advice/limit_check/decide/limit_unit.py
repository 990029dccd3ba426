"""What one limit bounds: a virtual disk, or all of a workload's on a datastore together."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from advisor.advice.limit_check.decide.limit_inputs import (
    LimitInputs,
    LimitWindow,
    VdiskLimit,
    passed_iops,
)
from advisor.core.iosize import size_cost
from advisor.core.resource import IoCount, LimitScope


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUnit:
    """Rates of the virtual disks behind one limit, summed window by window.

    `limit_iops` is the limit as stated (None: one of them has none), `passes` what it lets pass
    at the I/O size that was measured; None if that was needed and not measured. `waiting` marks
    the windows in which more was waiting; None means unknown. `at_device` is how many
    I/Os the device had on average in those windows; None if its latency was not measured.
    """

    name: str
    limit_iops: float | None
    passes: float | None
    unlimited: tuple[str, ...]
    rates: tuple[float, ...]
    waiting: tuple[bool | None, ...]
    mean_io_bytes: float | None
    device_is_congested: bool | None
    at_device: float | None

    @property
    def rates_with_more_waiting(self) -> tuple[float, ...]:
        """The rates of the windows in which something held it back."""
        return tuple(rate for rate, more in zip(self.rates, self.waiting, strict=True) if more)


def units_of(inputs: LimitInputs) -> list[LimitUnit]:
    """One unit per virtual disk with a limit, or one for all of them, in the order given."""
    if inputs.scope is LimitScope.POOLED:
        return [unit_of(inputs, inputs.vdisks, "all virtual disks")]
    return [
        unit_of(inputs, [one], one.vdisk) for one in inputs.vdisks if one.limit_iops is not None
    ]


def unit_of(inputs: LimitInputs, vdisks: Sequence[VdiskLimit], name: str) -> LimitUnit:
    """These virtual disks as one."""
    limits = [one.limit_iops for one in vdisks if one.limit_iops is not None]
    limit = sum(limits) if len(limits) == len(vdisks) else None
    rows = list(zip(*(one.windows for one in vdisks), strict=True))
    size = _mean_size([window for row in rows for window in row])
    return LimitUnit(
        name=name,
        limit_iops=limit,
        passes=None if limit is None else _passes(limit, rows, inputs.count),
        unlimited=tuple(one.vdisk for one in vdisks if one.limit_iops is None),
        rates=tuple(sum(window.iops for window in row) for row in rows),
        waiting=tuple(_any_waiting([window.backlogged for window in row]) for row in rows),
        mean_io_bytes=size,
        device_is_congested=_is_congested(
            [window for row in rows for window in row], inputs.congestion_threshold_ms
        ),
        at_device=_at_device(rows, inputs.size_term_bytes),
    )


def _passes(limit: float, rows: Sequence[Sequence[LimitWindow]], count: IoCount) -> float | None:
    """What the limit lets pass of the I/Os as they were; None if that takes an unknown size.

    Window by window: where sizes change, their mean over all windows is that of no I/O.
    """
    if count is IoCount.PLAIN:
        return limit
    known = [
        (one.iops, passes)
        for row in rows
        for one in row
        if (passes := passed_iops(limit, one.mean_io_bytes, count)) is not None
    ]
    # So many seconds of the limit they take in each second.
    part = sum(iops / passes for iops, passes in known)
    return sum(iops for iops, _ in known) / part if part > 0 else None


def _mean_size(windows: Sequence[LimitWindow]) -> float | None:
    sized = [(one.mean_io_bytes, one.iops) for one in windows if one.mean_io_bytes is not None]
    ios = sum(iops for _, iops in sized)
    return sum(size * iops for size, iops in sized) / ios if ios > 0 else None


def _any_waiting(backlogged: Sequence[bool | None]) -> bool | None:
    if any(backlogged):
        return True
    return None if None in backlogged else False


def _at_device(rows: Sequence[Sequence[LimitWindow]], size_term: float) -> float | None:
    """N = X·R at the device, over the windows in which more was waiting."""
    found = []
    for row in rows:
        if not _any_waiting([one.backlogged for one in row]):
            continue
        if any(one.device_latency_ms is None for one in row if one.iops):
            return None
        found.append(
            sum(
                one.iops
                * size_cost(one.mean_io_bytes, size_term_bytes=size_term)
                * (one.device_latency_ms or 0.0)
                / 1000
                for one in row
            )
        )
    return fmean(found) if found else None


def _is_congested(windows: Sequence[LimitWindow], threshold_ms: float | None) -> bool | None:
    latencies = [
        one.device_latency_ms for one in windows if one.device_latency_ms is not None and one.iops
    ]
    if not latencies or threshold_ms is None:
        return None
    return median(latencies) > threshold_ms
