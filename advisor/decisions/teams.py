"""Teams as people state them, and the tags that they give workloads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.actor import Actor
from accounts.models import Membership, Organisation
from accounts.models.audit import LONGEST_SUBJECT
from accounts.services.audit import record
from advisor.core.tags import problems_of_tags
from advisor.errors import InventoryError
from advisor.models import Team, Workload
from ingest.core.lengths import LONGEST_STATED_NAME

MOST_TEAMS = 200
"""Of an organisation: pages look at all of them for each workload."""


@transaction.atomic
def set_team(
    *,
    organisation: Organisation,
    name: str,
    tags: Sequence[str],
    members: Sequence[str] | None = None,
) -> Team:
    """State a team, in the place of one of this name. `members` are usernames; None keeps them."""
    if not name.strip() or len(name) > LONGEST_STATED_NAME or not name.isprintable():
        raise InventoryError(f"a team needs a name of at most {LONGEST_STATED_NAME} letters")
    _require_tags(tags)
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    others = Team.objects.filter(organisation=organisation).exclude(name=name)
    if others.count() >= MOST_TEAMS:
        raise InventoryError(f"there are {MOST_TEAMS} teams; remove one first")
    team, _ = Team.objects.update_or_create(
        organisation=organisation, name=name, defaults={"tags": sorted(set(tags))}
    )
    if members is not None:
        team.members.set(_memberships(organisation, members))
    return team


@transaction.atomic
def remove_team(*, organisation: Organisation, name: str) -> None:
    """Remove a team; its members and workloads stay."""
    gone, _ = Team.objects.filter(organisation=organisation, name=name).delete()
    if not gone:
        raise InventoryError(f'there is no team "{name}"')


def state_tags(*, organisation: Organisation, name: str, tags: Sequence[str]) -> Workload:
    """Give the workload of this name, created if missing, these tags beside what is found."""
    _require_tags(tags)
    row, _ = Workload.objects.get_or_create(organisation=organisation, name=name)
    row.stated_tags = sorted(set(tags))
    row.tell_tags()
    row.save(update_fields=["stated_tags", "tags"])
    return row


def note_team(team: Team, *, actor: Actor, now: datetime) -> None:
    """Tell the audit chain what a team is now."""
    members = team.members.select_related("user").order_by("user__username")
    names = [one.user.get_username() for one in members]
    record(
        organisation=team.organisation, actor=actor, action="state team",
        subject=team.name[:LONGEST_SUBJECT], now=now,
        details={"tags": ", ".join(team.tags), "members": ", ".join(names)},
    )  # fmt: skip


def _require_tags(tags: Sequence[str]) -> None:
    problems = problems_of_tags(tags)
    if problems:
        raise InventoryError("; ".join(problems))


def _memberships(organisation: Organisation, usernames: Sequence[str]) -> list[Membership]:
    found = Membership.objects.filter(
        organisation=organisation, user__username__in=usernames
    ).select_related("user")
    known = {one.user.get_username() for one in found}
    missing = sorted(set(usernames) - known)
    if missing:
        raise InventoryError(f'{organisation} has no member "{missing[0]}"')
    return list(found)
