"""The reading of each window: a value to compare, a load, or the reason why there is none.

A datastore's value is its latency, size-normalised per host and weighted by I/O count; a device
that has I/O in flight and completes none is stalled. An uplink's value is the used fraction of its
capacity, beside its other signals. All windows of a resource are read at once, from columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from advisor.core.detection.nic_signals import NicWindow
from advisor.core.enumeration import listed
from advisor.core.iosize import SIZE_TERM_BYTES, size_costs
from advisor.core.waterfill import Booleans, Floats

UNMET_TOLERANCE = 0.05
"""A reservation is unmet if more than this fraction of it is missing."""
BUSY_RATIO = 0.8
"""Below this fraction of capacity, without drops or backlog, no workload is held back."""
SEEN_RATIO = 0.95
"""Queues are known if those of this fraction of the traffic are."""
STALLED_BUSY_RATIO = 0.9
"""Fraction of the window with I/O in flight; the rest allows for late collectors."""

OF_A_HOST = ("io_count", "latency_ms", "mean_io_bytes", "outstanding_io", "busy_ratio")
OF_A_NIC = (
    "tx_bits_per_s",
    "capacity_bits_per_s",
    "packets",
    "drops",
    "backlog_bytes",
    "segments",
    "retransmits",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`value` is normalised latency in ms, or the used fraction of an uplink's capacity.

    `load` is I/Os or bits per second. None is absence, with `reason`. `own_limit` means that our
    own limits caused all latency of the window. `device_load` is a datastore's load in device
    time, as I/Os of the reference size per second; `nic` has the signals of an uplink. `stall`
    says which hosts wait for I/O of which none completed; it is empty if there are none.
    """

    at: datetime
    window_s: float
    value: float | None
    load: float | None
    reason: str = ""
    own_limit: bool = False
    device_load: float | None = None
    nic: NicWindow | None = None
    stall: str = ""

    @property
    def began_at(self) -> datetime:
        """The beginning of the window."""
        return self.at - timedelta(seconds=self.window_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatastoreColumns:
    """What each host saw of a datastore, each column (windows, hosts); NaN is unknown.

    `io_count` I/Os completed in the window, NaN if the host did not report; `latency_ms` is that
    of its device. `outstanding_io` were in flight on average, and some I/O was in flight during
    `busy_ratio` of the window. `throttled` means that our own limit held this host's I/O back
    and the latency includes that wait, so that it says nothing about the datastore.
    `size_term_bytes` is that of the datastore, in all windows or in each, (windows, 1).
    """

    hosts: tuple[str, ...]
    io_count: Floats
    latency_ms: Floats
    mean_io_bytes: Floats
    throttled: Booleans
    outstanding_io: Floats
    busy_ratio: Floats
    size_term_bytes: Floats | float = SIZE_TERM_BYTES

    def __post_init__(self) -> None:
        _check_amounts(self, OF_A_HOST)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UplinkColumns:
    """What an uplink sent, columns (windows), and its allocations; NaN is unknown.

    `packets` were sent, `drops` were not; `segments` and `retransmits` are those of the host's
    TCP. `rate` in bits per second, `backlogged` (1 if it wanted more, else 0) and `throttled` (by
    its own limit) are (windows, allocations), `reservation` is (allocations). Queues and drops of
    an allocation that its own limit holds back are not counted.
    """

    tx_bits_per_s: Floats
    capacity_bits_per_s: Floats
    packets: Floats
    drops: Floats
    backlog_bytes: Floats
    segments: Floats
    retransmits: Floats
    workloads: tuple[str, ...]
    rate: Floats
    reservation: Floats
    backlogged: Floats
    throttled: Booleans

    def __post_init__(self) -> None:
        _check_amounts(self, (*OF_A_NIC, "rate", "reservation"))
        if (self.capacity_bits_per_s == 0).any():
            raise ValueError("capacity_bits_per_s is 0.0; it must be a finite number above 0")


def _check_amounts(seen: object, names: Sequence[str]) -> None:
    """Refuse anything but finite numbers of at least 0; NaN is absence and allowed."""
    columns: list[Floats] = [getattr(seen, name).ravel() for name in names]
    if not _is_wrong(np.concatenate(columns)).any():
        return
    for name, column in zip(names, columns, strict=True):
        for value in column[_is_wrong(column)].tolist():
            raise ValueError(f"{name} is {value!r}; it must be a finite number of at least 0")


def _is_wrong(amounts: Floats) -> Booleans:
    wrong: Booleans = (amounts < 0) | (amounts == np.inf)
    return wrong


def datastore_readings(
    ends: Sequence[datetime], window_s: float, seen: DatastoreColumns
) -> list[Reading]:
    """The reading of each window of a datastore."""
    io_count = np.where(np.isnan(seen.io_count), 0.0, seen.io_count)
    timed_ms = np.where(seen.throttled, np.nan, seen.latency_ms)
    size_cost = size_costs(seen.mean_io_bytes, seen.size_term_bytes)
    found = zip(
        ends,
        np.logical_or.reduce(~np.isnan(seen.io_count), axis=1).tolist(),
        _numbers(normalized_latency_ms(timed_ms, seen.io_count, size_cost)),
        (in_order(io_count) / window_s).tolist(),
        (in_order(io_count * size_cost) / window_s).tolist(),
        np.logical_or.reduce(seen.throttled & (io_count > 0), axis=1).tolist(),
        _stalls(seen),
        strict=True,
    )
    return [
        Reading(
            at=at,
            window_s=window_s,
            value=latency_ms,
            load=load if is_known else None,
            reason=_gap(is_known, load, is_held) if latency_ms is None else "",
            own_limit=latency_ms is None and is_held,
            device_load=device_load if is_known else None,
            stall=stall,
        )
        for at, is_known, latency_ms, load, device_load, is_held, stall in found
    ]


def normalized_latency_ms(latency_ms: Floats, io_count: Floats, size_cost: Floats) -> Floats:
    """Mean latency over all I/Os of the hosts, converted to the reference I/O size, (windows).

    The columns are (windows, hosts); `size_cost` is as `size_costs` gives it. I/Os without a
    latency are left out; NaN is no latency at all.
    """
    timed = ~(np.isnan(latency_ms) | np.isnan(io_count))
    waited_ms = latency_ms / size_cost * io_count
    count = in_order(np.where(timed, io_count, 0.0))
    return in_order(np.where(timed, waited_ms, 0.0)) / np.where(count > 0, count, np.nan)


def in_order(columns: Floats) -> Floats:
    """The sum of each row, added from left to right.

    A sum in pairs depends to the last bit on how many windows are read at once.
    """
    total: Floats = columns.cumsum(axis=1)[:, -1:].sum(axis=1)
    return total


def _gap(is_known: bool, load: float, is_held: bool) -> str:
    """Why a window has no latency."""
    if not is_known:
        return "no host reported"
    if load == 0:
        return "no I/O in the window"
    return "latency was caused by our own limit" if is_held else "no latency was measured"


def _stalls(seen: DatastoreColumns) -> list[str]:
    """Per window the hosts that wait for I/O, and how many I/Os each waits for."""
    stalled = (seen.io_count == 0) & (seen.busy_ratio >= STALLED_BUSY_RATIO)
    found = [""] * len(stalled)
    for place in np.flatnonzero(stalled.any(axis=1)).tolist():
        waiting = [
            _waiting_text(seen.hosts[host], float(seen.outstanding_io[place, host]))
            for host in np.flatnonzero(stalled[place]).tolist()
        ]
        found[place] = f"I/O is in flight and none completes: {listed(waiting)}"
    return found


def _waiting_text(host: str, outstanding_io: float) -> str:
    # Kernels that count an I/O only on completion do not say how many are in flight.
    count = 0 if np.isnan(outstanding_io) else round(outstanding_io)
    return f"{count} on {host}" if count else f"on {host}"


def uplink_readings(
    ends: Sequence[datetime], window_s: float, seen: UplinkColumns
) -> list[Reading]:
    """The reading of each window of an uplink."""
    used = seen.tx_bits_per_s / seen.capacity_bits_per_s
    found = zip(ends, _numbers(used), _nic_windows(seen, used), strict=True)
    return [
        Reading(
            at=at,
            window_s=window_s,
            value=used_ratio,
            load=nic.tx_bits_per_s,
            reason=_missing(nic),
            nic=nic,
        )
        for at, used_ratio, nic in found
    ]


def _missing(nic: NicWindow) -> str:
    if nic.tx_bits_per_s is None:
        return "nothing was measured"
    return "the capacity is not known; set it" if nic.capacity_bits_per_s is None else ""


def _nic_windows(seen: UplinkColumns, used: Floats) -> list[NicWindow]:
    """The signals of each window; `used` is the fraction of the capacity."""
    waits = (seen.backlogged == 1) & ~seen.throttled & ~np.isnan(seen.rate)
    counted = zip(*(_numbers(getattr(seen, name)) for name in OF_A_NIC), strict=True)
    others = zip(_unmet(seen, used, waits), _nobody_waits(seen, waits), strict=True)
    return [
        NicWindow(**dict(zip(OF_A_NIC, row, strict=True)), unmet=unmet, nobody_waits=nobody_waits)
        for row, (unmet, nobody_waits) in zip(counted, others, strict=True)
    ]


def _unmet(seen: UplinkColumns, used: Floats, waits: Booleans) -> list[tuple[str, ...]]:
    """Per window the workloads that want their reservation and do not get it, sorted.

    They want more and are below it for another reason than their limit.
    """
    busy = (used >= BUSY_RATIO) | (seen.drops > 0) | (seen.backlog_bytes > 0)
    missing = seen.rate < seen.reservation * (1 - UNMET_TOLERANCE)
    unmet = missing & waits & busy[:, np.newaxis]
    found: list[tuple[str, ...]] = [()] * len(unmet)
    for place in np.flatnonzero(unmet.any(axis=1)).tolist():
        found[place] = tuple(
            sorted(seen.workloads[one] for one in np.flatnonzero(unmet[place]).tolist())
        )
    return found


def _nobody_waits(seen: UplinkColumns, waits: Booleans) -> list[bool]:
    """Whether all traffic belongs to workloads that wait for nothing but their own limit."""
    watched = ~np.isnan(seen.backlogged) & ~np.isnan(seen.rate)
    known = in_order(np.where(watched, seen.rate, 0.0))
    nobody_waits = (known >= SEEN_RATIO * seen.tx_bits_per_s) & ~waits.any(axis=1)
    found: list[bool] = nobody_waits.tolist()
    return found


def _numbers(column: Floats) -> list[float | None]:
    """A column as numbers, None where it is NaN."""
    return [None if value != value else value for value in column.tolist()]
