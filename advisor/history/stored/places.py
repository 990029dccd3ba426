"""Where tracks are stored: in which shard and column, from which hour on.

The tracks of a resource's devices and allocations share its shards, so a page on the resource
reads nothing else; the leftovers of a host share the host's. A place holds until the track gets
another home, from an hour on that is newer than all that is sealed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.models import Organisation
from advisor.core.chunk import MOST_COLUMNS
from advisor.history.stored.tracks import KnownSubject
from advisor.models import AdapterKind, Allocation, Attachment, Member, Shard
from ingest.core.figures import (
    CGROUP_IO,
    CLIENT,
    CONFLICT,
    DISK,
    HELD,
    INTERFACE,
    OWN_TIME,
    PRESSURE,
)
from ingest.models import Host
from ingest.queries import device_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What a track is stored with: a resource, else its host."""

    resource: int | None
    host: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A column of the chunks of a shard."""

    shard: int
    column: int


class Homes:
    """The homes of an organisation's tracks, by what resources and allocations say now."""

    def __init__(self, organisation: Organisation) -> None:
        self._devices: dict[tuple[int, str], int] = {}
        attachments = Attachment.objects.filter(resource__organisation=organisation)
        for host, device, resource in attachments.values_list("host_id", "device", "resource_id"):
            self._devices[host, device] = resource
        self._interfaces: dict[tuple[int, str], int] = {}
        self._cgroups: dict[tuple[int, str], set[int]] = defaultdict(set)
        allocations = Allocation.objects.filter(resource__organisation=organisation)
        self._named: dict[tuple[int, str, str], int] = {}
        for host, kind, adapter, vdisk, resource in allocations.values_list(
            "host_id", "adapter_kind", "adapter", "vdisk", "resource_id"
        ):
            if kind == AdapterKind.VNIC:
                self._interfaces[host, adapter] = resource
            elif kind in (AdapterKind.VDISK, AdapterKind.MOUNT):
                self._named[host, adapter, vdisk] = resource
            else:
                self._cgroups[host, adapter].add(resource)
        hosts = Host.objects.filter(pk__in={host for host, _ in self._cgroups})
        self._numbers = {
            (host, number): self._devices[host, device]
            for (host, device), number in device_numbers(hosts).items()
            if (host, device) in self._devices
        }

    def of(self, kind: str, known: KnownSubject) -> Home:
        resource = self._resource(kind, known)
        return Home(resource=resource, host=None if resource else known.subject.host)

    def _resource(self, kind: str, known: KnownSubject) -> int | None:
        subject = known.subject
        key = (subject.host, subject.name)
        if kind in (DISK.name, CLIENT.name, CONFLICT.name):
            return self._devices.get(key)
        if kind == INTERFACE.name:
            return self._devices.get(key) or self._interfaces.get(key)
        resources = self._cgroups.get(key, set())
        by_device = kind in (CGROUP_IO.name, HELD.name, OWN_TIME.name)
        if by_device and (*key, subject.device) in self._named:
            return self._named[*key, subject.device]
        if by_device:
            found = self._numbers.get((subject.host, subject.device))
            return found if found in resources else None
        if kind == PRESSURE.name:
            return min(resources, default=None)
        return None


def places_of(
    organisation: Organisation,
    kind: str,
    wanted: Sequence[KnownSubject],
    hour: datetime,
    homes: Homes,
) -> dict[int, Place]:
    """By track its place in this hour; a track that has none, or has moved home, gets one."""
    history = _members([known.track for known in wanted])
    shards = Shard.objects.in_bulk({member.shard_id for own in history.values() for member in own})
    places: dict[int, Place] = {}
    unplaced: dict[Home, list[int]] = defaultdict(list)
    returning: list[Member] = []
    for known in wanted:
        own, home = history.get(known.track, []), homes.of(kind, known)
        member = _member_at(own, hour)
        if member is not None and not _may_move(shards[member.shard_id], home, hour):
            places[known.track] = Place(shard=member.shard_id, column=member.column)
            continue
        former = _former(own, shards, home, is_first=member is None)
        if former is None:
            unplaced[home].append(known.track)
        else:
            places[known.track] = Place(shard=former.shard_id, column=former.column)
            returning.append(
                Member(
                    track_id=known.track,
                    shard_id=former.shard_id,
                    column=former.column,
                    since=hour,
                )
            )
    Member.objects.bulk_create(returning)
    for home, tracks in sorted(unplaced.items(), key=lambda item: min(item[1])):
        places |= _new_places(organisation, kind, home, tracks, hour)
    return places


def _members(tracks: Collection[int]) -> Mapping[int, list[Member]]:
    """The members of each track in order of time."""
    found: dict[int, list[Member]] = defaultdict(list)
    for member in Member.objects.filter(track__in=tracks).order_by("since"):
        found[member.track_id].append(member)
    return found


def _member_at(members: Sequence[Member], hour: datetime) -> Member | None:
    return next((one for one in reversed(members) if one.since <= hour), None)


def _may_move(shard: Shard, home: Home, hour: datetime) -> bool:
    """Whether a track of this shard belongs elsewhere, and nothing newer is sealed in it."""
    is_home = (shard.resource_id, shard.host_id) == (home.resource, home.host)
    is_new = shard.newest_hour is None or hour > shard.newest_hour
    return not is_home and is_new


def _former(
    members: Sequence[Member], shards: Mapping[int, Shard], home: Home, *, is_first: bool
) -> Member | None:
    """Where a track has been already: at the same home, or before all that is known of it."""
    if is_first:
        return members[0] if members else None
    return next(
        (
            one
            for one in reversed(members)
            if (shards[one.shard_id].resource_id, shards[one.shard_id].host_id)
            == (home.resource, home.host)
        ),
        None,
    )


def _new_places(
    organisation: Organisation, kind: str, home: Home, tracks: Sequence[int], hour: datetime
) -> dict[int, Place]:
    """The next free columns of the home's shards; a shard that is full is followed by another."""
    places: dict[int, Place] = {}
    rest = list(tracks)
    open_shards = list(
        Shard.objects.filter(
            organisation=organisation,
            kind=kind,
            resource=home.resource,
            host=home.host,
            width__lt=MOST_COLUMNS,
        )
    )
    while rest:
        shard = (
            open_shards.pop(0)
            if open_shards
            else Shard.objects.create(
                organisation=organisation,
                kind=kind,
                resource_id=home.resource,
                host_id=home.host,
            )
        )
        taken, rest = rest[: MOST_COLUMNS - shard.width], rest[MOST_COLUMNS - shard.width :]
        for track in taken:
            places[track] = Place(shard=shard.pk, column=shard.width)
            shard.width += 1
        shard.save(update_fields=["width"])
    Member.objects.bulk_create(
        Member(track_id=track, shard_id=place.shard, column=place.column, since=hour)
        for track, place in places.items()
    )
    return places
