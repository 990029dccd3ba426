"""Limits of a workload's virtual disks on one datastore, and what was measured under them."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import assert_never

from advisor.core.canonical import ADDED
from advisor.core.iosize import SIZE_TERM_BYTES, counted_ios
from advisor.core.number_checks import check_amount, check_positive
from advisor.core.resource import IoCount, LimitScope


def passed_iops(limit_iops: float, mean_io_bytes: float | None, count: IoCount) -> float | None:
    """I/Os of this size that a limit lets pass per second; None if the size is not known.

    Of mixed sizes the mean decides, so the answer is near, not exact.
    """
    match count:
        case IoCount.PLAIN:
            return limit_iops
        case IoCount.PER_32_KIB:
            return None if mean_io_bytes is None else limit_iops / counted_ios(mean_io_bytes)
        case _:
            assert_never(count)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitWindow:
    """One virtual disk in one window.

    `backlogged` says whether more was waiting; None means unknown. `device_latency_ms` is
    measured below the limit, so that waiting for the limit is not in it, and told of I/Os of the
    reference size.
    """

    iops: float
    mean_io_bytes: float | None = None
    backlogged: bool | None = None
    device_latency_ms: float | None = None

    def __post_init__(self) -> None:
        check_amount("iops", self.iops)
        check_amount("mean_io_bytes", self.mean_io_bytes)
        check_amount("device_latency_ms", self.device_latency_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class VdiskLimit:
    """A virtual disk with its limit (None: unlimited) and its windows, oldest first."""

    vdisk: str
    limit_iops: float | None
    windows: tuple[LimitWindow, ...]

    def __post_init__(self) -> None:
        check_positive(f"limit_iops of {self.vdisk}", self.limit_iops)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitInputs:
    """All virtual disks that one workload has on one datastore; windows are aligned in time.

    Above `congestion_threshold_ms` of device latency the datastore itself may be what holds the
    workload back; None means that the threshold is unknown. `size_term_bytes` is that of the
    datastore, in which latencies are told.
    """

    workload: str
    datastore: str
    scope: LimitScope
    count: IoCount
    vdisks: tuple[VdiskLimit, ...]
    congestion_threshold_ms: float | None = None
    size_term_bytes: float = field(default=SIZE_TERM_BYTES, metadata=ADDED)

    def __post_init__(self) -> None:
        check_positive("size_term_bytes", self.size_term_bytes)
        check_positive("congestion_threshold_ms", self.congestion_threshold_ms)
        names = sorted(one.vdisk for one in self.vdisks)
        if twice := [one for one, other in pairwise(names) if one == other]:
            raise ValueError(f'vdisk "{twice[0]}" is given twice')
        if len({len(one.windows) for one in self.vdisks}) > 1:
            raise ValueError("the virtual disks have different numbers of windows")
