"""What an inventory of a vCenter would change here, and what of it has no counterpart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from advisor.core.detection.threshold import ThresholdMode
from advisor.core.resource import Unit
from advisor.decisions.vcenter.decide.match import Matches, is_there
from advisor.decisions.vcenter.decide.placement_rules import placement_rules
from advisor.decisions.vcenter.decide.proposal import (
    AllocationChange,
    LeftOut,
    Present,
    PresentAllocation,
    PresentResource,
    PresentWorkload,
    Proposal,
    Stated,
    ThresholdChange,
    WhyLeftOut,
)
from advisor.decisions.vcenter.decide.unmapped import cluster_left_out, store_left_out
from advisor.decisions.vcenter.decide.words import controls_text
from ingest.core.vcenter.inventory import (
    Controls,
    Disk,
    Guest,
    Inventory,
    Nic,
    ShareLevel,
    Store,
)
from ingest.core.vcenter.inventory import ThresholdMode as SiocMode

_NOTHING = Stated()


_NEW = 0
"""The number of an allocation that is not there yet."""
_VDISK = "vdisk"


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A proposal that is being made."""

    allocations: list[AllocationChange] = field(default_factory=list)
    thresholds: list[ThresholdChange] = field(default_factory=list)
    sizes: dict[int, int] = field(default_factory=dict)
    store_sizes: dict[int, int] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    same: int = 0
    defaults: int = 0

    def leave(self, kind: WhyLeftOut, what: str, stated: str, why: str) -> None:
        self.left_out.append(LeftOut(what=what, stated=stated, kind=kind, why=why))


def propose(inventory: Inventory, present: Present) -> Proposal:
    """Compare both; the same inventory again proposes nothing that was applied."""
    matches, draft = Matches(inventory, present), _Draft()
    for problem in inventory.problems:
        draft.leave(WhyLeftOut.NOT_READ, problem.what, "", problem.why)
    for store in inventory.stores:
        _propose_store(store, matches, draft)
    names = {one.moid: one.name for one in inventory.stores}
    for guest in inventory.guests:
        for disk in guest.disks:
            _propose_disk(guest, disk, matches, draft, store=names.get(disk.datastore, ""))
        for nic in guest.nics:
            _propose_nic(guest, nic, matches, draft)
    rules, unwritten = placement_rules(inventory, matches)
    left_out = [*draft.left_out, *unwritten]
    left_out += [found for one in inventory.clusters for found in cluster_left_out(one)]
    left_out += [
        LeftOut(
            what=f"traffic {one.name} of {one.switch}",
            stated=controls_text(one.controls, Unit.BITS_PER_S),
            kind=WhyLeftOut.NO_COUNTERPART,
            why="an uplink is divided among workloads, not among classes of traffic; "
            "give the workload that sends it an allocation",
        )
        for one in inventory.traffic
    ]
    return Proposal(
        allocations=tuple(draft.allocations),
        thresholds=tuple(draft.thresholds),
        sizes=draft.sizes,
        store_sizes=draft.store_sizes,
        rules=rules,
        left_out=tuple(left_out),
        same=draft.same,
        defaults=draft.defaults,
    )


def _propose_store(store: Store, matches: Matches, draft: _Draft) -> None:
    match, congestion = matches.stores[store.moid], store.congestion
    resource = match.found
    draft.left_out.extend(store_left_out(store))
    if resource is not None and resource.size_bytes is None and store.size_bytes:
        draft.store_sizes[resource.pk] = store.size_bytes
    if congestion is None or not congestion.enabled:
        return
    mode, value = ThresholdMode.PEAK_THROUGHPUT, None
    if congestion.mode is SiocMode.MANUAL:
        mode, value = ThresholdMode.FIXED, float(congestion.threshold_ms or 0)
    if resource is None:
        stated = (
            f"congestion threshold {value:g} ms" if value else "congestion threshold automatic"
        )
        draft.leave(WhyLeftOut.NOT_SEEN, store.name, stated, match.gap)
    elif resource.threshold_mode == mode and value in (None, resource.threshold):
        draft.same += 1
    else:
        draft.thresholds.append(
            ThresholdChange(
                resource=resource.pk,
                name=resource.name,
                before=resource.threshold,
                before_mode=resource.threshold_mode,
                after=value,
                after_mode=mode,
            )
        )


def _propose_disk(
    guest: Guest, disk: Disk, matches: Matches, draft: _Draft, *, store: str
) -> None:
    of, controls = f"{guest.name} {disk.instance}", disk.controls
    _leave_filters(of, disk, draft)
    if controls is None or disk.is_raw:
        return
    stated = controls_text(controls, Unit.IOPS)
    row, resource, gap = _allocation_of(guest, disk, matches, store)
    workload = matches.guests[guest.moid].found
    if row is None or resource is None or workload is None:
        if controls.is_default:
            draft.defaults += 1
        else:
            draft.leave(WhyLeftOut.NOT_SEEN, of, stated, gap)
        return
    if row.pk and row.size_bytes is None and disk.size_bytes:
        draft.sizes[row.pk] = disk.size_bytes
    if resource.unit is not Unit.IOPS and (controls.limit or controls.reservation):
        why = f"rates of {resource.name} are counted in {resource.unit}, not in IOPS"
        draft.leave(WhyLeftOut.NO_COUNTERPART, of, stated, why)
        return
    _compare(of, controls, row, (workload, resource), draft, host=guest.host)


def _leave_filters(of: str, disk: Disk, draft: _Draft) -> None:
    """What has no counterpart whatever else is stated of the disk."""
    for name in disk.filters:
        why = "what an I/O filter does is not told; if it limits I/O, state the limit"
        draft.leave(WhyLeftOut.NO_COUNTERPART, of, f"I/O filter {name}", why)
    if disk.is_raw and disk.controls is not None and not disk.controls.is_default:
        why = "a raw disk is a LUN of its own, for which no other virtual machine contends"
        stated = controls_text(disk.controls, Unit.IOPS)
        draft.leave(WhyLeftOut.NO_COUNTERPART, of, stated, why)


def _new_row(
    guest: Guest, disk: Disk, workload: PresentWorkload, resource: PresentResource
) -> PresentAllocation:
    return PresentAllocation(
        pk=_NEW,
        resource=resource.pk,
        workload=workload.pk,
        host=guest.host or "",
        vdisk=disk.instance,
        adapter_kind=_VDISK,
        adapter=f"vm/{guest.moid}",
        stated=Stated(),
        by_person=False,
        is_gone=False,
        size_bytes=disk.size_bytes,
    )


def _allocation_of(
    guest: Guest, disk: Disk, matches: Matches, store: str
) -> tuple[PresentAllocation | None, PresentResource | None, str]:
    """The allocation with its resource, or the reason why there is none."""
    workload, resource = matches.guests[guest.moid], matches.stores.get(disk.datastore)
    if workload.found is None:
        return None, None, workload.gap
    if resource is None:
        return None, None, "the vCenter does not tell its datastore"
    if resource.found is None:
        return None, None, f"{store}: {resource.gap}"
    match = matches.disk(guest, workload.found, resource.found, disk.instance)
    says_something = disk.controls is not None and not disk.controls.is_default
    where = workload.found, resource.found
    if match.found is None and says_something and matches.is_measured(guest, *where):
        # Its samples do not tell on which of several datastores it lies; the vCenter does.
        return _new_row(guest, disk, *where), resource.found, ""
    return match.found, resource.found, match.gap


def _compare(
    of: str,
    controls: Controls,
    row: PresentAllocation,
    where: tuple[PresentWorkload, PresentResource],
    draft: _Draft,
    *,
    host: str | None,
) -> None:
    """Propose what vCenter says; its default leaves what a person stated here."""
    workload, resource = where
    # Samples say where the VM is; an export may be older.
    moves = (
        row.by_person
        and row.adapter_kind == _VDISK
        and row.host not in workload.hosts
        and is_there(host, workload, resource)
    )
    after = Stated(
        # The level normal is what everything has of which nobody said anything.
        shares=None if controls.level is ShareLevel.NORMAL else controls.shares,
        limit=controls.limit,
        reservation=controls.reservation,
    )
    if row.stated == after and not moves:
        draft.same += not controls.is_default
        draft.defaults += controls.is_default
    elif controls.is_default:
        if row.by_person:
            why = "vCenter has the default; remove what is stated here if it is no longer wanted"
            unit = resource.unit
            draft.leave(WhyLeftOut.KEPT, of, controls_text(controls, unit), why)
        else:
            draft.defaults += 1
    else:
        draft.allocations.append(
            AllocationChange(
                allocation=row.pk or None,
                of=of,
                workload=workload.name,
                resource=resource.name,
                resource_key=resource.pk,
                unit=resource.unit,
                host=(host or row.host) if moves else row.host,
                vdisk=row.vdisk,
                adapter=row.adapter,
                moved_from=row.host if moves else "",
                before=row.stated,
                after=after,
            )
        )


def _propose_nic(guest: Guest, nic: Nic, matches: Matches, draft: _Draft) -> None:
    if nic.controls.is_default:
        return
    of, workload = f"{guest.name} {nic.label}", matches.guests[guest.moid]
    if workload.found is None:
        stated = controls_text(nic.controls, Unit.BITS_PER_S)
        draft.leave(WhyLeftOut.NOT_SEEN, of, stated, workload.gap)
        return
    match = matches.nic(guest, workload.found, nic.key)
    if match.found is None:
        stated = controls_text(nic.controls, Unit.BITS_PER_S)
        draft.leave(WhyLeftOut.NOT_SEEN, of, stated, match.gap)
        return
    uplink = matches.resources[match.found.resource]
    _compare(of, nic.controls, match.found, (workload.found, uplink), draft, host=guest.host)


def left_by_kind(proposal: Proposal) -> Iterator[tuple[WhyLeftOut, list[LeftOut]]]:
    """What is left out, by kind of reason, in the order of the kinds."""
    for kind in WhyLeftOut:
        found = [one for one in proposal.left_out if one.kind is kind]
        if found:
            yield kind, found
