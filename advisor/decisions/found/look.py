"""What an organisation's collectors show now: its storage, its workloads, and what counts them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Prefetch

from accounts.models import Organisation
from advisor.decisions.found.pods import known_pods
from advisor.decisions.found.rules import rules_of
from advisor.models import Attachment, Resource
from advisor.resource_kinds import registry
from ingest import queries
from ingest.core.catalogue import CGROUP, DISKIO, NET
from ingest.core.identity.backing import Backing, Counted
from ingest.core.identity.cgroup_path import CgroupKind, read_cgroup
from ingest.core.identity.datastores import FoundStorage, find_storage
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import Stated
from ingest.core.identity.pods import KnownPods, with_pods
from ingest.core.identity.rules import Rules
from ingest.core.identity.workloads import CGROUP as CGROUP_PLACE
from ingest.core.identity.workloads import FoundWorkload, find_workloads
from ingest.facts import current_facts
from ingest.models import Host

SENDS = timedelta(minutes=15)
"""What a host has not sent for so long before its last sample is gone."""
SHORTEST_LIFE = timedelta(seconds=30)
"""A container or pod that sent for less time is none to decide about."""
_GUESTS = ("qemu/", "lxc/", "libvirt/", "vm/")
"""How the subjects of samples of virtual disks begin."""
_CLIENT = "mount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Everything that is found; `hosts` by name are those that send samples.

    `pods` are those of the workloads that their clusters show.
    """

    hosts: dict[str, Host]
    facts: Facts
    storage: FoundStorage
    workloads: tuple[FoundWorkload, ...]
    backing: Backing
    rules: Rules
    pods: KnownPods


def look(organisation: Organisation, *, now: datetime) -> Look:
    """Read what is sent and said, in as many statements however many hosts there are."""
    rows = Host.objects.filter(organisation=organisation).order_by("pk")
    hosts = {host.name: host for host in rows}
    sent = _Sent()
    for row in _series(organisation):
        sent.add(*row)
    facts = Facts.of(current_facts(organisation, now=now), sent.places)
    rules = rules_of(organisation)
    stated = Stated(statements=rules.statements, owners=_owners(organisation))
    storage = find_storage(facts, stated)
    names = {host.pk: name for name, host in hosts.items()}
    numbers = queries.device_numbers(hosts.values())
    counted = Counted(
        cgroups={key: frozenset(found) for key, found in sent.cgroups.items()},
        numbers={(names[host], device): number for (host, device), number in numbers.items()},
        guests=frozenset(sent.guests),
    )
    workloads = find_workloads(facts, _machines(facts, storage))
    pods = known_pods(organisation, workloads)
    return Look(
        hosts=hosts,
        facts=facts,
        storage=storage,
        workloads=with_pods(workloads, pods),
        backing=Backing(facts, storage, counted),
        rules=rules,
        pods=pods,
    )


def _machines(facts: Facts, storage: FoundStorage) -> dict[str, str]:
    return {host: storage.machines.get(host, host) for host in facts.hosts()}


def device_place(host: str, device: str) -> Place:
    """The place of a device that sends samples: an export is a mount."""
    return Place(host, Kind.MOUNT if ":/" in device else Kind.DEVICE, device)


def _owners(organisation: Organisation) -> dict[Place, str]:
    """The places of resources that people described."""
    rows = Attachment.objects.filter(
        resource__organisation=organisation,
        resource__kind="datastore",
        resource__discovered=False,
        found=False,
    ).order_by("pk")
    return {
        device_place(host, device): name
        for host, device, name in rows.values_list("host__name", "device", "resource__name")
    }


class _Sent:
    """The places that send samples, and the counters of workloads."""

    def __init__(self) -> None:
        self.places: set[Place] = set()
        self.cgroups: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.guests: set[tuple[str, str, str]] = set()

    def add(self, host: str, measurement: str, subject: str, device: str, lived_s: float) -> None:
        """Take one series."""
        if measurement == DISKIO.name:
            if not _is_of_another_kind(subject):
                self.places.add(device_place(host, subject))
        elif measurement == NET.name:
            self.places.add(Place(host, Kind.NIC, subject))
        elif subject.startswith(_GUESTS):
            self.places.add(Place(host, Kind.WORKLOAD, subject))
            self.guests.add((host, subject, device))
        elif subject != _CLIENT and not _short_lived(subject, lived_s):
            self.places.add(Place(host, CGROUP_PLACE, subject))
            self.cgroups[host, subject].add(device)


def _is_of_another_kind(device: str) -> bool:
    """Whether devices of this name are another kind of resource, which is found by the name."""
    return any(
        traits.device_pattern.fullmatch(device)
        for traits in registry.KINDS
        if not traits.found_by_identity and traits.reader.measurement is DISKIO
    )


def _short_lived(path: str, lived_s: float) -> bool:
    if lived_s >= SHORTEST_LIFE.total_seconds():
        return False
    found = read_cgroup(path)
    return found is not None and found.kind in (CgroupKind.CONTAINER, CgroupKind.POD)


def _series(organisation: Organisation) -> Iterable[tuple[str, str, str, str, float]]:
    """Host, measurement, subject, device and how long it sends, of what is still sent."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT host.name, series.measurement, series.subject,
                   coalesce(series.tags->>'device', ''),
                   coalesce(extract(epoch FROM
                       max(series.last_sample_at) - min(series.first_sample_at)), 0)::float8
              FROM ingest_series AS series JOIN ingest_host AS host ON host.id = series.host_id
             WHERE series.organisation_id = %(organisation)s
               AND series.measurement = ANY(%(measurements)s)
               AND series.last_sample_at
                   >= host.last_sample_at - make_interval(secs => %(sends_s)s)
             GROUP BY 1, 2, 3, 4
            """,
            {
                "organisation": organisation.pk,
                "measurements": [DISKIO.name, CGROUP.name, NET.name],
                "sends_s": SENDS.total_seconds(),
            },
        )
        rows: list[tuple[str, str, str, str, float]] = cursor.fetchall()
        return rows


def datastores(organisation: Organisation) -> list[Resource]:
    """All datastores with their attachments, the oldest first."""
    rows = Resource.objects.filter(organisation=organisation, kind="datastore")
    attachments = Attachment.objects.order_by("pk").select_related("host")
    return list(rows.order_by("pk").prefetch_related(Prefetch("attachments", attachments)))
