"""Where everything lies and what load that makes, now and after a move."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.placement.decide.move_effect import DatastoreLoad, load_of, moved_outstanding


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Datastores and virtual disks by name, in the order of names, and each datastore's load.

    `workloads` counts the virtual disks of each workload on each datastore.
    """

    datastores: Mapping[str, DatastoreState]
    vdisks: Mapping[str, VdiskState]
    loads: Mapping[str, DatastoreLoad]
    workloads: Mapping[str, Counter[str]]


def layout_of(inputs: PlacementInputs) -> Layout:
    """The layout as it is."""
    return _layout(inputs.datastores, inputs.vdisks)


def after_moves(layout: Layout, targets: Mapping[str, str]) -> Layout:
    """The layout after each of these virtual disks has moved to its target."""
    used = {name: one.used_bytes for name, one in layout.datastores.items()}
    placed = dict(layout.vdisks)
    for name, target in sorted(targets.items()):
        one = layout.vdisks[name]
        source, there = layout.datastores[one.datastore], layout.datastores[target]
        used[one.datastore] -= one.size_bytes
        used[target] += one.size_bytes
        placed[name] = replace(
            one, datastore=target, outstanding_io=moved_outstanding(one, source, there)
        )
    datastores = [
        replace(one, used_bytes=max(used[name], 0.0)) for name, one in layout.datastores.items()
    ]
    return _layout(datastores, placed.values())


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
        workloads={name: Counter(one.workload for one in lying.get(name, [])) for name in ordered},
    )
