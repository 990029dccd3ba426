"""Who may change whose role and take whom out; the last owner stays."""

from __future__ import annotations

from contextlib import suppress

import pytest

from accounts.actor import COMMAND_LINE, Actor
from accounts.errors import AccountsError, LastOwner, NotAllowed, NotFound
from accounts.models import AuditEntry
from accounts.roles import Role
from accounts.services.members import change_role, remove_member
from tests.accounts.people import ADDRESS, join, role_of
from tests.ingest.scenario import Tenant, now


@pytest.fixture
def actors(tenant: Tenant) -> dict[Role, Actor]:
    return {role: join(tenant.organisation, f"the-{role}", role) for role in Role}


@pytest.mark.parametrize("by", Role)
@pytest.mark.parametrize("before", Role)
@pytest.mark.parametrize("after", Role)
def test_role_is_changed_by_who_may(
    tenant: Tenant, actors: dict[Role, Actor], by: Role, before: Role, after: Role
) -> None:
    join(tenant.organisation, "alice", before)
    # Admins manage members; only owners make owners or take that away.
    takes_owner = Role.OWNER in (before, after) and before != after
    may = by == Role.OWNER or (by == Role.ADMIN and not takes_owner)

    try:
        change_role(
            organisation=tenant.organisation, username="alice", role=after,
            by=actors[by], now=now(),
        )  # fmt: skip
    except NotAllowed:
        refused = True
    else:
        refused = False

    assert refused is not may
    assert role_of(tenant.organisation, "alice") == (after if may else before)


@pytest.mark.parametrize("by", Role)
@pytest.mark.parametrize("whose", Role)
def test_member_is_removed_by_who_may(
    tenant: Tenant, actors: dict[Role, Actor], by: Role, whose: Role
) -> None:
    join(tenant.organisation, "alice", whose)
    may = by == Role.OWNER or (by == Role.ADMIN and whose != Role.OWNER)

    with suppress(NotAllowed):
        remove_member(organisation=tenant.organisation, username="alice", by=actors[by], now=now())

    assert (role_of(tenant.organisation, "alice") is None) is may


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.ADMIN])
def test_everybody_may_leave(tenant: Tenant, actors: dict[Role, Actor], role: Role) -> None:
    remove_member(
        organisation=tenant.organisation, username=f"the-{role}", by=actors[role], now=now()
    )

    assert role_of(tenant.organisation, f"the-{role}") is None


@pytest.mark.parametrize("by", ["the owner", "command line"])
def test_last_owner_neither_leaves_nor_becomes_less(
    tenant: Tenant, actors: dict[Role, Actor], by: str
) -> None:
    actor = actors[Role.OWNER] if by == "the owner" else COMMAND_LINE
    place = {"organisation": tenant.organisation, "username": "the-owner", "by": actor}

    with pytest.raises(LastOwner, match="make somebody else an owner first"):
        remove_member(**place, now=now())
    with pytest.raises(LastOwner, match="make somebody else an owner first"):
        change_role(**place, role=Role.ADMIN, now=now())

    assert role_of(tenant.organisation, "the-owner") == Role.OWNER


def test_owner_leaves_after_another_was_made(tenant: Tenant, actors: dict[Role, Actor]) -> None:
    place = {"organisation": tenant.organisation, "by": actors[Role.OWNER], "now": now()}

    change_role(username="the-admin", role=Role.OWNER, **place)
    remove_member(username="the-owner", **place)

    assert role_of(tenant.organisation, "the-owner") is None


def test_member_of_another_organisation_is_not_found(tenant: Tenant, stranger: Tenant) -> None:
    join(stranger.organisation, "alice", Role.VIEWER)
    owner = join(tenant.organisation, "rita", Role.OWNER)

    with pytest.raises(NotFound):
        remove_member(organisation=tenant.organisation, username="alice", by=owner, now=now())

    assert role_of(stranger.organisation, "alice") == Role.VIEWER


def test_what_was_done_is_recorded_and_what_was_refused_is_not(
    tenant: Tenant, actors: dict[Role, Actor]
) -> None:
    place = {"organisation": tenant.organisation, "username": "the-viewer", "now": now()}

    change_role(role=Role.OPERATOR, by=actors[Role.ADMIN], **place)
    with pytest.raises(AccountsError):
        change_role(role=Role.VIEWER, by=actors[Role.OPERATOR], **place)

    (entry,) = AuditEntry.objects.all()
    assert (entry.actor, entry.address) == ("the-admin", ADDRESS)
    assert (entry.action, entry.subject) == ("change role", "the-viewer")
    assert entry.details == {"before": "viewer", "after": "operator"}
