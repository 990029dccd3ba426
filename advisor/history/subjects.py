"""What counts the I/O and traffic of devices and allocations: the subjects of their counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from advisor.models import AdapterKind, Allocation, Attachment, Unit
from ingest.core.figures import CGROUP_IO, INTERFACE, FigureKind
from ingest.grid_reader import Subject

Wanted = dict[FigureKind[Any], list[Subject]]
TCP_SUBJECT = "snmp"
"""The TCP counters are those of /proc/net/snmp, which Telegraf tags so."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateSubjects:
    """What the rates of allocations are made of; `count` allocations, by their places.

    Those `on_vnics` have the subjects `vnics`. Those `on_cgroups` have `cgroups`, and are
    `in_iops` where their resource counts I/Os. Others are not measured.
    """

    count: int
    on_vnics: list[int]
    vnics: tuple[Subject, ...]
    on_cgroups: list[int]
    cgroups: tuple[Subject, ...]
    in_iops: list[bool]

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
