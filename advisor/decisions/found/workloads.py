"""Make and keep the workloads that are found, each with a default allocation where it is seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Prefetch

from accounts.models import Organisation
from advisor.core.resource import Tier
from advisor.decisions.found.claims import keep_clusters
from advisor.decisions.found.look import Look
from advisor.decisions.found.migrated import follow
from advisor.decisions.found.names import free_name
from advisor.history.recordset import update_rows
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Incident,
    Resource,
    Workload,
    WorkloadKind,
)
from advisor.pipeline.incidents import restate_parties
from ingest.core.identity.backing import Meter, Use, mount_clients
from ingest.core.identity.facts import Kind, Place
from ingest.core.identity.rules import decide_tier
from ingest.core.identity.tracking import OWN_KEYS, Known, track
from ingest.core.identity.uplinks import uplink_of
from ingest.core.identity.workloads import FoundWorkload, cgroup_key, nic_key
from ingest.core.lengths import LONGEST_PATH, LONGEST_STATED_NAME

_COLUMNS = (
    "name", "kind", "tier", "tier_reason", "identity", "attributes", "tags", "reasons",
    "vanished_at",
)  # fmt: skip
FORGOTTEN = timedelta(days=30)
"""So long a workload that is gone is kept, in case it comes back."""
MOST_FORMER_NAMES = 10
"""So many names that a workload had are known, with the time until which it had them."""
_KINDS = set(WorkloadKind.values)
_CLIENT = "mount"
_SHORT = 60

_Where = tuple[int, int, str]
"""The keys of resource and host, and the name of the virtual disk."""


def keep_workloads(
    organisation: Organisation,
    seen: Look,
    resources: Mapping[tuple[str, ...], Resource],
    *,
    now: datetime,
) -> None:
    """Bring workloads and their default allocations up to date."""
    # Their usual order would join all that they are of.
    own = Allocation.objects.order_by("pk").select_related("host")
    every = Workload.objects.filter(organisation=organisation).order_by("pk")
    known = {row.pk: row for row in every.prefetch_related(Prefetch("allocations", own))}
    found = [*seen.workloads, *_clients(seen)]
    tracked = track([_remembered(row) for row in known.values()], _now_known(found))
    rows = [
        known[tracked.known[at]]
        if at in tracked.known
        else Workload(organisation=organisation, found=True, name="")
        for at in range(len(found))
    ]
    before = {row.pk: _columns(row) for row in known.values()}
    named = {row.name for one, row in zip(found, rows, strict=True) if _is_renamed(row, one)}
    taken = {row.name for row in known.values()} - named
    for one, row in zip(found, rows, strict=True):
        _describe(row, one, seen, taken, now=now)
    for pk in tracked.vanished | tracked.absorbed.keys():
        if known[pk].found and known[pk].vanished_at is None:
            known[pk].vanished_at = now
    _save(rows, [row for row in known.values() if _columns(row) != before[row.pk]])
    uplinks = _uplinks(organisation)
    uses = {
        row.pk: _uses(one, row, seen, resources) | _on_uplinks(one, row, seen, uplinks)
        for one, row in zip(found, rows, strict=True)
    }
    for one, row in zip(found, rows, strict=True):
        if row.pk in known:
            follow(row, one, uses[row.pk].values(), now=now)
    _allocate(known, uses, now=now)
    pods = ((seen.pods.of(one), row) for one, row in zip(found, rows, strict=True))
    numbers = {pod.number: row.pk for pod, row in pods if pod is not None}
    keep_clusters(organisation, seen, workloads=numbers, resources=resources)
    _drop_forgotten(organisation, now=now)


def _clients(seen: Look) -> list[FoundWorkload]:
    """Each host that mounts an export is a workload of it, unless workloads of it are known.

    What it counts holds their I/O, which would be counted twice.
    """
    clients = mount_clients(seen.storage)
    known = {
        (use.host, datastore.keys)
        for one in (seen.workloads if clients else ())
        for datastore, use in seen.backing.uses(one)
    }
    mounts: dict[str, list[str]] = defaultdict(list)
    for datastore, place in clients:
        if (place.host, datastore.keys) not in known:
            mounts[place.host].append(place.subject)
    return [
        FoundWorkload(
            keys=(f"client:{host}",),
            name=f"{host} (mounts)",
            stated_name=None,
            kind=WorkloadKind.SLICE,
            uuid=None,
            pid=None,
            places=tuple(Place(host, Kind.MOUNT, export) for export in sorted(exports)),
            cgroups=(),
            disks=(),
            nics=(),
            attributes=(),
            reasons=(),
        )
        for host, exports in sorted(mounts.items())
    ]


def _remembered(row: Workload) -> Known:
    said = row.identity
    return Known(
        number=row.pk,
        keys=tuple(dict.fromkeys([*said.get("keys", ()), *_stated_keys(row)])),
        hosts=frozenset(said.get("hosts", ())),
        name=said.get("name"),
        pid=said.get("pid"),
        stated=not row.found,
    )


def _stated_keys(row: Workload) -> list[str]:
    """By what people said that the workload is measured."""
    keys = {AdapterKind.CGROUP: cgroup_key, AdapterKind.VNIC: nic_key}
    return [
        keys[AdapterKind(one.adapter_kind)](one.host.name, one.adapter)
        for one in row.allocations.all()
        if one.adapter_kind in keys and not one.found
    ]


def _now_known(found: Sequence[FoundWorkload]) -> list[Known]:
    return [
        Known(
            number=at,
            keys=one.keys,
            hosts=frozenset(place.host for place in one.places),
            name=one.stated_name,
            pid=one.pid,
        )
        for at, one in enumerate(found)
    ]


def _describe(
    row: Workload, one: FoundWorkload, seen: Look, taken: set[str], *, now: datetime
) -> None:
    """What is known of the workload; a name or tier that a person gave stays."""
    given, former = row.identity.get("given", ""), row.identity.get("former", [])
    if _is_renamed(row, one):
        before = row.name
        row.name = given = free_name(_told_apart(one, taken), taken, longest=LONGEST_STATED_NAME)
        taken.add(row.name)
        if before not in ("", row.name):
            former = [*former, [before, now.isoformat()]][-MOST_FORMER_NAMES:]
    if row.found:
        row.kind = one.kind if one.kind in _KINDS else WorkloadKind.SLICE
    row.identity = {
        "keys": _kept_keys(row, one),
        "given": given,
        "wanted": one.name,
        "former": former,
        "hosts": sorted({place.host for place in one.places}),
        "name": one.stated_name,
        "pid": one.pid,
    }
    row.attributes = [list(pair) for pair in one.attributes]
    row.tell_tags()
    row.reasons = [
        {**asdict(reason), "places": [str(place) for place in reason.places]}
        for reason in one.reasons
    ]
    row.vanished_at = None
    _set_tier(row, one, seen)


def _is_renamed(row: Workload, one: FoundWorkload) -> bool:
    """Whether the name was given here, for another that collectors state now."""
    ours = row.found and row.name == row.identity.get("given", "")
    return ours and one.name != row.identity.get("wanted")


def _told_apart(one: FoundWorkload, taken: set[str]) -> str:
    """The name that people use, with its host where another workload has it."""
    if one.name not in taken or not one.places:
        return one.name
    return f"{one.name} on {one.places[0].host}"


def _kept_keys(row: Workload, one: FoundWorkload) -> list[str]:
    """Its keys now, and its own numbers of before that nobody tells at the moment."""
    kinds = {key.partition(":")[0] for key in one.keys}
    former = [
        key
        for key in row.identity.get("keys", ())
        if (kind := key.partition(":")[0]) in OWN_KEYS and kind not in kinds
    ]
    return [*one.keys, *former]


def _fields(row: Workload, one: FoundWorkload, seen: Look) -> dict[str, list[str]]:
    """What rules may ask for."""
    hosts = sorted({place.host for place in one.places})
    fields: dict[str, list[str]] = defaultdict(list)
    fields["name"] = [row.name, *([one.stated_name] if one.stated_name else [])]
    fields["kind"] = [one.kind]
    fields["host"] = hosts
    for host in hosts:
        fields["cluster"].extend(seen.facts.values(Place(host, Kind.HOST, ""), "cluster"))
    stated = [tag.partition("=")[::2] for tag in row.stated_tags]
    for name, value in (*one.attributes, *stated):
        fields[name].append(value)
    return fields


def _set_tier(row: Workload, one: FoundWorkload, seen: Look) -> None:
    """The tier that rules give, else the label of its pod, unless a person stated it."""
    if not row.found or row.tier_stated:
        return
    decided, pod = decide_tier(seen.rules, _fields(row, one, seen)), seen.pods.of(one)
    if decided is not None:
        row.tier, row.tier_reason = Tier(decided.tier), decided.reason
    elif pod is not None and pod.tier is not None:
        row.tier, row.tier_reason = Tier(pod.tier), pod.reason
    else:
        row.tier, row.tier_reason = Tier.MEDIUM, ""


def _columns(row: Workload) -> list[Any]:
    return [getattr(row, name) for name in _COLUMNS]


def _save(rows: Iterable[Workload], changed: Sequence[Workload]) -> None:
    """Write new and changed rows; names that change places go by another in between."""
    if changed:
        keys = [row.pk for row in changed]
        given = dict(Workload.objects.filter(pk__in=keys).values_list("pk", "name"))
        renamed = [row for row in changed if row.name != given[row.pk]]
        if {row.name for row in renamed} & set(given.values()):
            update_rows([Workload(pk=row.pk, name=f"~{row.pk}") for row in renamed], ["name"])
        update_rows(changed, _COLUMNS)
    Workload.objects.bulk_create([row for row in rows if row.pk is None], batch_size=1000)


def _uses(
    one: FoundWorkload,
    row: Workload,
    seen: Look,
    resources: Mapping[tuple[str, ...], Resource],
) -> dict[_Where, Allocation]:
    """The default allocations that a workload is to have."""
    found: dict[_Where, Allocation] = {}
    for datastore, use in seen.backing.uses(one):
        resource, host = resources.get(datastore.keys), seen.hosts.get(use.host)
        if resource is None or host is None or len(use.adapter) > LONGEST_PATH:
            continue
        name = use.instance if use.meter is not Meter.CGROUP else _part(one, use)
        found[resource.pk, host.pk, name] = Allocation(
            resource=resource, workload=row, host=host, vdisk=name[:LONGEST_STATED_NAME],
            adapter_kind=AdapterKind(use.meter), adapter=use.adapter, found=True,
        )  # fmt: skip
    if one.keys[0].startswith("client:"):
        found |= _mounted(one, row, seen, resources)
    return found


def _uplinks(organisation: Organisation) -> dict[str, dict[str, Resource]]:
    """The uplinks of each host, by the name of their interface."""
    found: dict[str, dict[str, Resource]] = defaultdict(dict)
    rows = Attachment.objects.filter(resource__organisation=organisation, resource__kind="uplink")
    for at in rows.select_related("resource", "host").order_by("pk"):
        found[at.host.name][at.device] = at.resource
    return found


def _on_uplinks(
    one: FoundWorkload,
    row: Workload,
    seen: Look,
    uplinks: Mapping[str, Mapping[str, Resource]],
) -> dict[_Where, Allocation]:
    """The NICs of a workload, each on the uplink through which it sends."""
    found: dict[_Where, Allocation] = {}
    keys = {place.host: place.subject for place in one.places if place.kind == Kind.WORKLOAD}
    nics = list(one.nics)
    for host, instance, nic in nics:
        own, known = uplinks.get(host, {}), seen.hosts.get(host)
        device = uplink_of(seen.facts, host, nic, own)
        counted = [nic, f"{keys.get(host, '')}/{instance}"]
        adapter = next((a for a in counted if seen.facts.is_seen(Place(host, Kind.NIC, a))), None)
        if device is None or known is None or adapter is None or device == nic:
            continue
        beside = [at for at in nics if at[0] == host]
        name = "" if len(beside) == 1 else instance[:LONGEST_STATED_NAME]
        found[own[device].pk, known.pk, name] = Allocation(
            resource=own[device], workload=row, host=known, vdisk=name,
            adapter_kind=AdapterKind.VNIC, adapter=adapter, found=True,
        )  # fmt: skip
    return found


def _part(one: FoundWorkload, use: Use) -> str:
    """What tells the cgroups of one workload on a host apart: empty where it has one."""
    beside = [path for host, path in one.cgroups if host == use.host]
    return "" if len(beside) == 1 else use.adapter.rpartition("/")[2][:_SHORT]


def _mounted(
    one: FoundWorkload,
    row: Workload,
    seen: Look,
    resources: Mapping[tuple[str, ...], Resource],
) -> dict[_Where, Allocation]:
    """The exports of a client, each counted by itself."""
    by_place = seen.storage.by_place()
    found = {}
    for place in one.places:
        resource, host = resources.get(by_place[place].keys), seen.hosts.get(place.host)
        if resource is None or host is None or len(place.subject) > LONGEST_STATED_NAME:
            continue
        found[resource.pk, host.pk, place.subject] = Allocation(
            resource=resource, workload=row, host=host, vdisk=place.subject,
            adapter_kind=AdapterKind.MOUNT, adapter=_CLIENT, found=True,
        )  # fmt: skip
    return found


def _allocate(
    known: Mapping[int, Workload],
    uses: Mapping[int, Mapping[_Where, Allocation]],
    *,
    now: datetime,
) -> None:
    """Make the allocations that are missing, mark those of before that are not seen any more.

    What a person stated takes the place of the default there, also of another workload that is
    found by the same counters.
    """
    new: list[Allocation] = []
    changed: list[Allocation] = []
    moved, replaced = _follow_guests(known, uses)
    stated = [one for row in known.values() for one in row.allocations.all() if not one.found]
    # What is stated of one virtual disk leaves the defaults of the others.
    taken = {_counters(one) for one in stated} | {
        (one.workload_id, *_place(one)) for one in stated if one.adapter_kind != AdapterKind.VDISK
    }
    for key in {**known, **uses}:
        wanted = {
            where: one
            for where, one in uses.get(key, {}).items()
            if taken.isdisjoint((_counters(one), (key, *_place(one))))
        }
        for present in known[key].allocations.all() if key in known else ():
            if not present.found or present.pk in replaced:
                continue
            one = wanted.pop((present.resource_id, present.host_id, present.vdisk), None)
            if _renew(present, one, now=now):
                changed.append(present)
        new.extend(wanted.values())
    update_rows(moved, ["host", "adapter"])
    update_rows(changed, ["adapter_kind", "adapter", "vanished_at"])
    Allocation.objects.bulk_create(new, batch_size=1000, ignore_conflicts=True)
    touched = {one.resource_id for one in (*new, *changed, *moved)}
    congested = Incident.objects.filter(resource__in=touched, ended_at=None)
    for resource in Resource.objects.filter(pk__in=congested.values("resource")).order_by("pk"):
        restate_parties(resource)


def _place(one: Allocation) -> tuple[int, int]:
    return one.resource_id, one.host_id


def _counters(one: Allocation) -> tuple[int, int, str, str, str]:
    """The counters that measure an allocation: of virtual disks and mounts those of its name."""
    named = one.adapter_kind in (AdapterKind.VDISK, AdapterKind.MOUNT)
    return (*_place(one), one.adapter_kind, one.adapter, one.vdisk if named else "")


def _drop_forgotten(organisation: Organisation, *, now: datetime) -> None:
    """Workloads that are gone for long and of which nobody stated anything leave nothing."""
    gone = Workload.objects.filter(
        organisation=organisation, found=True, tier_stated=False, stated_tags=[],
        vanished_at__lt=now - FORGOTTEN,
    )  # fmt: skip
    gone.exclude(allocations__found=False).delete()


def _follow_guests(
    known: Mapping[int, Workload], uses: Mapping[int, Mapping[_Where, Allocation]]
) -> tuple[list[Allocation], set[int]]:
    """Let what is stated of virtual disks follow their VMs to other hosts.

    Those that moved, and the keys of defaults in whose place they came, which are gone.
    """
    moved: list[Allocation] = []
    replaced: set[int] = set()
    for key, wanted in uses.items():
        rows = list(known[key].allocations.all()) if key in known else []
        followed = _follow([one for one in rows if not one.found], wanted)
        places = {_where(one) for one in followed}
        replaced |= {one.pk for one in rows if one.found and _where(one) in places}
        moved += followed
    if replaced:
        Allocation.objects.filter(pk__in=replaced).delete()
    return moved, replaced


def _follow(stated: Sequence[Allocation], wanted: Mapping[_Where, Allocation]) -> list[Allocation]:
    """Those of one workload that moved: its disk is on one other host, and there alone."""
    places = {_where(one) for one in stated}
    moved = []
    for one in stated:
        own = [use for use in wanted if (use[0], use[2]) == (one.resource_id, one.vdisk)]
        is_vdisk = one.adapter_kind == AdapterKind.VDISK
        if is_vdisk and len(own) == 1 and own[0] not in places:
            one.host, one.adapter = wanted[own[0]].host, wanted[own[0]].adapter
            moved.append(one)
    return moved


def _where(one: Allocation) -> _Where:
    return one.resource_id, one.host_id, one.vdisk


def _renew(present: Allocation, one: Allocation | None, *, now: datetime) -> bool:
    """Bring a default allocation up to date; whether it changed."""
    before = (present.adapter_kind, present.adapter, present.vanished_at)
    if one is None:
        present.vanished_at = present.vanished_at or now
    else:
        present.adapter_kind, present.adapter = one.adapter_kind, one.adapter
        present.vanished_at = None
    return before != (present.adapter_kind, present.adapter, present.vanished_at)
