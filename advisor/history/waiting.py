"""Whether allocations on cgroups, virtual disks and mounts want more, in what was read of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from advisor.core.detection.waiting import Waited, Wants, wants
from advisor.history.layout import WaitingPlaces
from advisor.history.measured import Measured
from ingest.core.figures import CLIENT, DISK, HELD, OWN_TIME, WAITING, FigureKind
from ingest.core.grid import Flags, Floats

KINDS = (WAITING, HELD, OWN_TIME, CLIENT)
"""What is read of each; of pressure a part."""


def wants_at(
    places: WaitingPlaces,
    measured: Measured,
    *,
    iops: Floats,
    device_ms: Floats,
    limited: Flags | None = None,
) -> Wants:
    """What each wants; the columns are (windows, allocations on cgroups)."""
    (pressure,) = _told(places, measured, WAITING, "some_ratio")
    (held,) = _told(places, measured, HELD, "held_ratio")
    in_flight, own_ms = _told(places, measured, OWN_TIME, "in_flight", "latency_ms")
    unsent, unanswered = _told(places, measured, CLIENT, "unsent", "unanswered")
    is_mounted = ~np.isnan(unsent)
    return wants(
        Waited(
            iops=iops,
            device_ms=device_ms,
            pressure=pressure,
            held=held,
            unsent=unsent,
            in_flight=np.where(is_mounted, unsent + unanswered, in_flight),
            own_ms=own_ms,
            limited=np.zeros_like(iops, dtype=np.bool_) if limited is None else limited,
        )
    )


def device_ms_at(places: WaitingPlaces, measured: Measured) -> Floats:
    """How long an I/O takes the device of each on its host, (windows, allocations on cgroups)."""
    found = np.full((measured.grid.count, places.count), np.nan)
    if len(places.devices.at):
        # Allocations share devices.
        columns, own = np.unique(places.devices.columns, return_inverse=True)
        found[:, places.devices.at] = measured.figures_at(DISK, columns).latency_ms[:, own]
    return found


def is_read(measured: Measured) -> bool:
    """Whether anything was read that tells who waits."""
    return any(measured.has(kind) for kind in KINDS)


def _told(
    places: WaitingPlaces, measured: Measured, kind: FigureKind[Any], *names: str
) -> list[Floats]:
    """These figures of each allocation, NaN where nothing says them."""
    shape = measured.grid.count, places.count
    found = places.witnesses[kind.whole]
    if not len(found.at) or not measured.has(kind):
        # They take no memory.
        return [np.broadcast_to(np.nan, shape) for _ in names]
    figures = measured.figures_at(kind, found.columns)
    columns = []
    for name in names:
        every = np.full(shape, np.nan)
        every[:, found.at] = getattr(figures, name)
        columns.append(every)
    return columns
