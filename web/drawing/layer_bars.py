"""Where the time of I/Os goes as one bar for each disk, cut into its layers, on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.core.device.felt_latency import FeltLatency, Layer, LayerTime, ms_text
from advisor.queries.felt_latency import DiskLatency
from web.drawing.scale import LengthScale, bar_scale

COLOURS: Mapping[Layer, int] = {
    Layer.OWN_LIMIT: 2,
    Layer.QUEUE: 1,
    Layer.HOST: 4,
    Layer.SERVER: 5,
    Layer.DEVICE: 3,
    Layer.UNTOLD: 0,
}
"""A layer has the same colour on every page; who sees none reads the list beside the bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCut:
    """One layer, and where it lies out of WIDTH."""

    part: LayerTime
    colour: int
    x: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBar:
    """One disk, and the cuts of its bar from the workload down; none if it is not told.

    `gaps` are layers that nobody counts, but those of which the same is said of all disks.
    """

    disk: DiskLatency
    cuts: tuple[LayerCut, ...]
    gaps: tuple[LayerTime, ...] = ()

    @property
    def found(self) -> FeltLatency | None:
        """What is told of it."""
        return self.disk.found if isinstance(self.disk.found, FeltLatency) else None

    @property
    def whole(self) -> str | None:
        """The whole with its unit; None where nobody times it."""
        found = self.found
        return None if found is None or found.whole_ms is None else ms_text(found.whole_ms)


def layer_bars(disks: Sequence[DiskLatency]) -> list[LayerBar]:
    """One bar per disk, in the order given."""
    parts = [_timed(one) for one in disks]
    scale = bar_scale(sum(part.ms or 0.0 for part in own) for own in parts)
    shared = shared_gaps(disks)
    return [
        LayerBar(
            disk=one,
            cuts=tuple(_cuts(own, scale)),
            gaps=tuple(gap for gap in _gaps(one) if gap not in shared),
        )
        for one, own in zip(disks, parts, strict=True)
    ]


def shared_gaps(disks: Sequence[DiskLatency]) -> list[LayerTime]:
    """What nobody counts of any of several disks, for the same reason: it is said once."""
    told = [_gaps(one) for one in disks if isinstance(one.found, FeltLatency)]
    if len(told) < 2:
        return []
    return [gap for gap in told[0] if all(gap in own for own in told)]


def _gaps(disk: DiskLatency) -> tuple[LayerTime, ...]:
    return disk.found.absent if isinstance(disk.found, FeltLatency) else ()


def _timed(disk: DiskLatency) -> list[LayerTime]:
    found = disk.found
    return [part for part in found.layers if part.ms] if isinstance(found, FeltLatency) else []


def _cuts(parts: Sequence[LayerTime], scale: LengthScale) -> list[LayerCut]:
    """Each begins where the one before ends, so rounding leaves no gap."""
    cuts, end_ms = [], 0.0
    for part in parts:
        begin = scale.bar(end_ms)
        end_ms += part.ms or 0.0
        cuts.append(
            LayerCut(
                part=part, colour=COLOURS[part.layer], x=begin, width=scale.bar(end_ms) - begin
            )
        )
    return cuts
