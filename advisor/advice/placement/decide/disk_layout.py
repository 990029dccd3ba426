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
    vdisks = {one.vdisk: one for one in sorted(inputs.vdisks, key=lambda one: one.vdisk)}
    stores = {
        one.datastore: one for one in sorted(inputs.datastores, key=lambda one: one.datastore)
    }
    lying = _lying(vdisks.values(), stores)
    return Layout(
        datastores=stores,
        vdisks=vdisks,
        loads={name: load_of(one, lying[name]) for name, one in stores.items()},
        workloads={name: _workloads(lying[name]) for name in stores},
    )


def after_moves(layout: Layout, targets: Mapping[str, str]) -> Layout:
    """The layout after each of these virtual disks has moved to its target.

    Only the datastores that something leaves or comes to are computed again.
    """
    vdisks = dict(layout.vdisks)
    used: dict[str, float] = {}
    for name, target in sorted(targets.items()):
        one = layout.vdisks[name]
        source, there = layout.datastores[one.datastore], layout.datastores[target]
        for store, comes in ((source, -one.size_bytes), (there, one.size_bytes)):
            used[store.datastore] = used.get(store.datastore, store.used_bytes) + comes
        vdisks[name] = replace(
            one, datastore=target, outstanding_io=moved_outstanding(one, source, there)
        )
    touched = {
        name: replace(layout.datastores[name], used_bytes=max(bytes_, 0.0))
        for name, bytes_ in used.items()
    }
    lying = _lying(vdisks.values(), touched)
    return Layout(
        datastores={**layout.datastores, **touched},
        vdisks=vdisks,
        loads={**layout.loads, **{name: load_of(touched[name], lying[name]) for name in touched}},
        workloads={**layout.workloads, **{name: _workloads(lying[name]) for name in touched}},
    )


def _lying(vdisks: Iterable[VdiskState], stores: Iterable[str]) -> dict[str, list[VdiskState]]:
    """What lies on each of these datastores, in the order of names."""
    lying: dict[str, list[VdiskState]] = {name: [] for name in stores}
    for one in vdisks:
        if one.datastore in lying:
            lying[one.datastore].append(one)
    return lying


def _workloads(vdisks: Iterable[VdiskState]) -> Counter[str]:
    return Counter(one.workload for one in vdisks)
