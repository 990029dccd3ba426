"""The people, hosts and resources that tests of pages begin with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from accounts.models import Membership, Organisation, Role
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    ReservationMode,
    Resource,
    ResourceKind,
    Tier,
    Unit,
    Workload,
)
from ingest.models import Host

PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The owner and the operator decide, the viewer only reads, the outsider is a stranger."""

    owner: User
    operator: User
    viewer: User
    outsider: User


@dataclass(slots=True, kw_only=True)
class Fleet:
    """One organisation with its people, hosts and resources by name."""

    now: datetime
    organisation: Organisation
    people: People
    hosts: dict[str, Host] = field(default_factory=dict)
    resources: dict[str, Resource] = field(default_factory=dict)

    def add_host(self, name: str, *, last_sample_at: datetime | None) -> Host:
        host = Host.objects.create(
            organisation=self.organisation,
            name=name,
            last_sample_at=last_sample_at,
            heard_at=last_sample_at,
        )
        self.hosts[name] = host
        return host

    def add_resource(
        self,
        name: str,
        kind: ResourceKind,
        *,
        capacity: float | None,
        threshold: float,
        attachments: tuple[tuple[str, str], ...],
        discovered: bool = False,
    ) -> Resource:
        is_uplink = kind == ResourceKind.UPLINK
        resource = Resource.objects.create(
            organisation=self.organisation,
            name=name,
            kind=kind,
            unit=Unit.BITS_PER_S if is_uplink else Unit.IOPS,
            capacity=capacity,
            mode=ReservationMode.ADDITIVE if is_uplink else ReservationMode.FLOOR,
            threshold=threshold,
            activity_floor=10.0,
            discovered=discovered,
        )
        for host, device in attachments:
            Attachment.objects.create(resource=resource, host=self.hosts[host], device=device)
        self.resources[name] = resource
        return resource

    def add_allocation(
        self,
        resource: Resource,
        workload: str,
        host: str,
        tier: Tier,
        *,
        reservation: float = 0.0,
        limit: float | None = None,
        vnic: str | None = None,
    ) -> Allocation:
        row, _ = Workload.objects.get_or_create(
            organisation=self.organisation, name=workload, defaults={"tier": tier}
        )
        return Allocation.objects.create(
            resource=resource,
            workload=row,
            host=self.hosts[host],
            adapter_kind=AdapterKind.VNIC if vnic else AdapterKind.CGROUP,
            adapter=vnic or f"/machine.slice/{workload}.scope",
            reservation=reservation,
            limit=limit,
        )


def empty_fleet(now: datetime, *, prefix: str = "") -> Fleet:
    """An organisation with people and nothing else: what a new user sees.

    The prefix of slugs and names lets two fleets exist beside each other.
    """
    organisation = Organisation.objects.create(slug=f"{prefix}northgate", name="Northgate Cloud")
    other = Organisation.objects.create(slug=f"{prefix}lakeside", name="Lakeside Labs")
    people = People(
        owner=_member(f"{prefix}owner", organisation, Role.OWNER),
        operator=_member(f"{prefix}operator", organisation, Role.OPERATOR),
        viewer=_member(f"{prefix}viewer", organisation, Role.VIEWER),
        outsider=_member(f"{prefix}outsider", other, Role.OWNER),
    )
    return Fleet(now=now, organisation=organisation, people=people)


def _member(name: str, organisation: Organisation, role: Role) -> User:
    user = get_user_model().objects.create_user(username=name, password=PASSWORD)
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user
