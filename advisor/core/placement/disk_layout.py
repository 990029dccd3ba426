"""Where everything lies and what load that makes, now and after a move."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from advisor.core.placement.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.core.placement.move_effect import DatastoreLoad, load_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Datastores and virtual disks by name, in the order of names, and each datastore's load."""

    datastores: Mapping[str, DatastoreState]
    vdisks: Mapping[str, VdiskState]
    loads: Mapping[str, DatastoreLoad]


def layout_of(inputs: PlacementInputs) -> Layout:
    """The layout as it is."""
    return _layout(inputs.datastores, inputs.vdisks)


def after_move(layout: Layout, vdisks: Iterable[str], target: str) -> Layout:
    """The layout after these virtual disks of one datastore have moved.

    On a slower device their clients keep more outstanding, in the ratio of the slopes.
    """
    moved = [layout.vdisks[one] for one in vdisks]
    source = layout.datastores[moved[0].datastore]
    there = layout.datastores[target]
    size = sum(one.size_bytes for one in moved)
    scale = (there.slope_ms or 1.0) / (source.slope_ms or 1.0)
    datastores = {
        **layout.datastores,
        source.datastore: replace(source, used_bytes=max(source.used_bytes - size, 0.0)),
        target: replace(there, used_bytes=there.used_bytes + size),
    }
    placed = {
        **layout.vdisks,
        **{
            one.vdisk: replace(one, datastore=target, outstanding_io=one.outstanding_io * scale)
            for one in moved
        },
    }
    return _layout(datastores.values(), placed.values())


def _layout(datastores: Iterable[DatastoreState], vdisks: Iterable[VdiskState]) -> Layout:
    by_name = {one.vdisk: one for one in sorted(vdisks, key=lambda one: one.vdisk)}
    lying: dict[str, list[VdiskState]] = {}
    for one in by_name.values():
        lying.setdefault(one.datastore, []).append(one)
    ordered = {one.datastore: one for one in sorted(datastores, key=lambda one: one.datastore)}
    return Layout(
        datastores=ordered,
        vdisks=by_name,
        loads={name: load_of(one, lying.get(name, [])) for name, one in ordered.items()},
    )
