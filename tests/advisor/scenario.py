"""Named situations for the tests of the advisor: people, an uplink, three workloads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from accounts.models import Membership, Organisation, Role
from advisor.decisions import inventory
from advisor.decisions.enrolment import Enrolment, enroll
from advisor.models import (
    AdapterKind,
    Allocation,
    PolicyRollout,
    Recommendation,
    Resource,
    ResourceKind,
)
from tests.advisor.agent_support import state_support

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MBIT = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The owner approves, the viewer only reads, the outsider belongs to another tenant."""

    owner: AbstractBaseUser
    operator: AbstractBaseUser
    viewer: AbstractBaseUser
    outsider: AbstractBaseUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Host h1 whose 94 Mbit/s uplink is shared by web-1 (75 reserved), web-2 and web-3."""

    organisation: Organisation
    people: People
    uplink: Resource
    allocations: list[Allocation]
    enrolment: Enrolment


def make_cluster(slug: str = "acme") -> Cluster:
    """The cluster of the NetIOC study's reservation experiment at a hundredth of its rates."""
    organisation = Organisation.objects.create(slug=slug, name=slug.title())
    uplink = inventory.add_resource(
        organisation=organisation,
        name="h1/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h1", "up0")],
        capacity=94 * MBIT,
        line_rate=100 * MBIT,
    )
    allocations = [
        inventory.set_allocation(
            resource=uplink,
            workload_name=f"web-{number}",
            host_name="h1",
            adapter_kind=AdapterKind.VNIC,
            adapter=f"p{number}",
            reservation=75 * MBIT if number == 1 else 0.0,
        )
        for number in (1, 2, 3)
    ]
    enrolment = enroll(organisation=organisation, host_name="h1")
    state_support(enrolment.host)
    return Cluster(
        organisation=organisation,
        people=_people(organisation),
        uplink=uplink,
        allocations=allocations,
        enrolment=enrolment,
    )


def _people(organisation: Organisation) -> People:
    other, _ = Organisation.objects.get_or_create(slug="other", defaults={"name": "Other"})
    return People(
        owner=_member(organisation, "owner", Role.ADMIN),
        operator=_member(organisation, "operator", Role.OPERATOR),
        viewer=_member(organisation, "viewer", Role.VIEWER),
        outsider=_member(other, f"outsider-of-{organisation}", Role.ADMIN),
    )


def _member(organisation: Organisation, name: str, role: Role) -> AbstractBaseUser:
    username = name if organisation.slug == "acme" else f"{name}-{organisation}"
    user = get_user_model().objects.create_user(username=username, password="correct horse")
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user


def end_guards(*, at: datetime = NOW) -> None:
    """The versions under way harm nobody, so that others may follow."""
    PolicyRollout.objects.filter(guarded_until=None).update(guarded_until=at)


def propose(
    cluster: Cluster, *, reservation: float = 75 * MBIT, capacity: float | None = None
) -> Recommendation:
    """An open recommendation that reserves `reservation` for web-1.

    `capacity` is what the advice divided, where it says so.
    """
    rest = ((capacity or 94 * MBIT) - reservation) / 3
    allocations = [
        {
            "allocation": allocation.pk,
            "workload": allocation.workload.name,
            "reservation": reservation if index == 0 else 0.0,
            "limit": None,
            "shares": 1000,
            "entitlement": rest + (reservation if index == 0 else 0.0),
        }
        for index, allocation in enumerate(cluster.allocations)
    ]
    return Recommendation.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        kind="reservation",
        summary="Reserve bandwidth for web-1 on h1/up0",
        inputs="{}",
        answer=json.dumps({"allocations": allocations, "evidence": {"capacity": capacity}}),
        created_at=NOW,
        expires_at=NOW + timedelta(hours=24),
    )
