"""What counts the I/O and traffic of devices and allocations: the subjects of their counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from advisor.models import AdapterKind, Allocation, Attachment, Unit
from ingest.core.figures import (
    CGROUP_IO,
    CLIENT,
    HELD,
    INTERFACE,
    OWN_TIME,
    PRESSURE,
    FigureKind,
)
from ingest.grid_reader import Subject

Wanted = dict[FigureKind[Any], list[Subject]]
WAITING_KINDS = (PRESSURE, HELD, OWN_TIME, CLIENT)
"""What tells whether allocations on cgroups, virtual disks and mounts wait."""
TCP_SUBJECT = "snmp"
"""The TCP counters are those of /proc/net/snmp, which Telegraf tags so."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateSubjects:
    """What the rates of allocations are made of; `count` allocations, by their places.

    Those `on_vnics` have the subjects `vnics`. Those `on_cgroups` have `cgroups`, are told apart
    by `adapters`, and are `in_iops` where their resource counts I/Os. Others are not measured.
    """

    count: int
    on_vnics: list[int]
    vnics: tuple[Subject, ...]
    on_cgroups: list[int]
    cgroups: tuple[Subject, ...]
    adapters: list[str]
    in_iops: list[bool]

    def waiting(self, kind: FigureKind[Any]) -> list[Subject | None]:
        """What says in this kind whether each of `cgroups` waits; None says nothing of it."""
        adapter, subject_of = _WITNESSES[kind]
        return [
            subject_of(one) if own == adapter else None
            for one, own in zip(self.cgroups, self.adapters, strict=True)
        ]

    @property
    def wanted(self) -> Wanted:
        """What is to be read for them."""
        return {INTERFACE: [*self.vnics], CGROUP_IO: [*self.cgroups]}


def rate_subjects(allocations: Sequence[Allocation], numbers: Mapping[int, str]) -> RateSubjects:
    """Those of these allocations; `numbers` are those of the devices of cgroups."""
    on_vnics, on_cgroups = [], []
    for place, row in enumerate(allocations):
        if row.adapter_kind == AdapterKind.VNIC:
            on_vnics.append(place)
        elif row.pk in numbers:
            on_cgroups.append(place)
    return RateSubjects(
        count=len(allocations),
        on_vnics=on_vnics,
        vnics=tuple(adapter_subject(allocations[place]) for place in on_vnics),
        on_cgroups=on_cgroups,
        cgroups=tuple(on_device(allocations[place], numbers) for place in on_cgroups),
        adapters=[allocations[place].adapter_kind for place in on_cgroups],
        in_iops=[allocations[place].resource.unit == Unit.IOPS for place in on_cgroups],
    )


def joined_subjects(parts: Iterable[RateSubjects]) -> RateSubjects:
    """Those of all, one after the other."""
    every = list(parts)
    begins = [0, *accumulate(one.count for one in every)]
    return RateSubjects(
        count=begins[-1],
        on_vnics=[
            begin + at for begin, one in zip(begins, every, strict=False) for at in one.on_vnics
        ],
        vnics=tuple(subject for one in every for subject in one.vnics),
        on_cgroups=[
            begin + at for begin, one in zip(begins, every, strict=False) for at in one.on_cgroups
        ],
        cgroups=tuple(subject for one in every for subject in one.cgroups),
        adapters=[adapter for one in every for adapter in one.adapters],
        in_iops=[flag for one in every for flag in one.in_iops],
    )


def tcp_subject(attachment: Attachment) -> Subject:
    """The TCP of its host."""
    return Subject(host=attachment.host_id, name=TCP_SUBJECT)


def device_subject(attachment: Attachment) -> Subject:
    return Subject(host=attachment.host_id, name=attachment.device)


def adapter_subject(allocation: Allocation) -> Subject:
    """Its vNIC, or its cgroup over all devices."""
    return Subject(host=allocation.host_id, name=allocation.adapter)


def over_all_devices(cgroup: Subject) -> Subject:
    """The cgroup as its pressure is measured."""
    return cgroup._replace(device="")


def on_device(allocation: Allocation, numbers: Mapping[int, str]) -> Subject:
    """Its cgroup on the allocated device."""
    number = numbers[allocation.pk]
    return Subject(host=allocation.host_id, name=allocation.adapter, device=number)


def mounted_export(mount: Subject) -> Subject:
    """The export as its client counts it; the allocation of a mount is on it by its name."""
    return Subject(host=mount.host, name=mount.device)


def _itself(subject: Subject) -> Subject:
    return subject


_WITNESSES: Mapping[FigureKind[Any], tuple[str, Callable[[Subject], Subject]]] = {
    PRESSURE: (AdapterKind.CGROUP, over_all_devices),
    HELD: (AdapterKind.CGROUP, _itself),
    OWN_TIME: (AdapterKind.VDISK, _itself),
    CLIENT: (AdapterKind.MOUNT, mounted_export),
}
