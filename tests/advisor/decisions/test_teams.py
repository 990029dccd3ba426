"""Teams own workloads by the tags that collectors send and people state."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from accounts.models import Membership, Organisation
from advisor.decisions.found.keep import keep_inventory
from advisor.decisions.teams import MOST_TEAMS, remove_team, set_team, state_tags
from advisor.errors import InventoryError
from advisor.models import Team, Workload, WorkloadRules
from advisor.queries.scope import Scope
from advisor.queries.teams import owned_by, reach_of, team_names
from config.database_roles import DatabaseRole
from tests.advisor.decisions.found_inventory import disk, guest, tell
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.config.roles import acting_as, make_roles

pytestmark = pytest.mark.django_db


@pytest.fixture
def found(acme: Organisation) -> Organisation:
    """Two guests, one with a label that its collector sends."""
    tell(acme, guest("h1", "libvirt/a", name="a", label__team="shop"), *disk("h1", "sda"))
    tell(acme, guest("h1", "libvirt/b", name="b"), minutes=1)
    return acme


def scope_of(organisation: Organisation, name: str = "ann") -> Scope:
    user = get_user_model().objects.create_user(username=name)
    Membership.objects.create(organisation=organisation, user=user)
    return Scope(user=user, organisation=organisation)


def owned(organisation: Organisation, team: Team) -> list[str]:
    rows = owned_by(Workload.objects.filter(organisation=organisation), team)
    return sorted(row.name for row in rows)


def test_team_owns_what_has_one_of_its_tags(found: Organisation) -> None:
    state_tags(organisation=found, name="b", tags=["tag=prod"])

    team = set_team(organisation=found, name="shop", tags=["label.team=shop", "tag=prod"])
    other = set_team(organisation=found, name="other", tags=["label.team=sho", "tag=prod"])
    nobody = set_team(organisation=found, name="nobody", tags=[])

    assert owned(found, team) == ["a", "b"]
    assert owned(found, other) == ["b"]
    assert owned(found, nobody) == []
    names = team_names(scope_of(found))
    assert {Workload.objects.get(pk=pk).name: one for pk, one in names.items()} == {
        "a": ("shop",), "b": ("other", "shop"),
    }  # fmt: skip


def test_stated_tags_stay_when_it_is_looked_again_and_those_found_follow(
    found: Organisation,
) -> None:
    state_tags(organisation=found, name="a", tags=["label.team=search"])

    tell(found, guest("h1", "libvirt/a", name="a", label__team="mail"), minutes=2)

    assert Workload.objects.get(name="a").tags == ["label.team=mail", "label.team=search"]
    state_tags(organisation=found, name="a", tags=[])
    assert Workload.objects.get(name="a").tags == ["label.team=mail"]


def test_rules_ask_for_stated_tags_too(found: Organisation) -> None:
    state_tags(organisation=found, name="b", tags=["label.team=shop"])
    WorkloadRules.objects.create(
        organisation=found, text="tier: low where label.team = shop", stated_at=NOW
    )

    tell(found, guest("h1", "libvirt/b", name="b"), minutes=2)

    assert Workload.objects.get(name="b").tier == "low"


def test_workload_with_a_stated_tag_is_not_forgotten(found: Organisation) -> None:
    state_tags(organisation=found, name="a", tags=["tag=prod"])

    tell(found, *disk("h1", "sda"), minutes=60 * 24)
    tell(found, *disk("h1", "sda"), minutes=60 * 24 * 32)

    assert [row.name for row in Workload.objects.filter(kind="vm")] == ["a"]


def test_reach_is_what_its_workloads_use_now(found: Organisation) -> None:
    scope = scope_of(found)
    team = set_team(organisation=found, name="shop", tags=["label.team=shop"])

    reach = reach_of(scope, team)

    row = Workload.objects.get(name="a")
    assert reach.hosts == {one.host_id for one in row.allocations.all()}
    assert reach.resources == {one.resource_id for one in row.allocations.all()}


def test_members_are_those_of_the_organisation(acme: Organisation) -> None:
    scope_of(acme, "ann"), scope_of(acme, "ben")

    team = set_team(organisation=acme, name="shop", tags=[], members=["ann", "ben"])
    set_team(organisation=acme, name="shop", tags=["tag=a"])
    kept = [one.user.get_username() for one in team.members.all()]
    set_team(organisation=acme, name="shop", tags=[], members=["ben"])

    assert sorted(kept) == ["ann", "ben"]
    assert [one.user.get_username() for one in team.members.all()] == ["ben"]
    get_user_model().objects.create_user(username="eve")
    with pytest.raises(InventoryError, match='has no member "eve"'):
        set_team(organisation=acme, name="shop", tags=[], members=["eve"])
    # Who leaves the organisation leaves its teams.
    Membership.objects.get(user__username="ben").delete()
    assert not team.members.exists()


@pytest.mark.parametrize(
    ("name", "tags", "why"),
    [
        ("", [], "needs a name"),
        ("a\nb", [], "needs a name"),
        ("a" * 201, [], "needs a name"),
        ("shop", ["team=shop"], "is no key of a tag"),
    ],
)
def test_team_that_cannot_be_is_refused(
    acme: Organisation, name: str, tags: list[str], why: str
) -> None:
    with pytest.raises(InventoryError, match=why):
        set_team(organisation=acme, name=name, tags=tags)
    assert not Team.objects.exists()


def test_there_are_so_many_teams_at_most(acme: Organisation) -> None:
    Team.objects.bulk_create(
        Team(organisation=acme, name=f"team {number}") for number in range(MOST_TEAMS)
    )

    set_team(organisation=acme, name="team 0", tags=["tag=a"])
    with pytest.raises(InventoryError, match="remove one first"):
        set_team(organisation=acme, name="one more", tags=[])


def test_team_that_is_removed_leaves_members_and_workloads(found: Organisation) -> None:
    scope_of(found)
    set_team(organisation=found, name="shop", tags=["label.team=shop"], members=["ann"])

    remove_team(organisation=found, name="shop")

    assert Membership.objects.filter(user__username="ann").exists()
    assert Workload.objects.filter(name="a").exists()
    with pytest.raises(InventoryError, match="there is no team"):
        remove_team(organisation=found, name="shop")


def test_worker_may_keep_tags_up_to_date(found: Organisation) -> None:
    make_roles()
    at = NOW + timedelta(minutes=2)
    line = guest("h1", "libvirt/b", name="b", label__team="mail")
    send(found, f"{line} {int(at.timestamp())}000000000", now=at)

    with acting_as(DatabaseRole.WORKER):
        keep_inventory(found, now=at)

    assert Workload.objects.get(name="b").tags == ["label.team=mail"]
