"""Pages of teams, and what other pages show of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Organisation
from advisor.decisions.teams import set_team, state_tags
from advisor.models import Team, Workload
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

SHOP = "label.team=shop"


@pytest.fixture
def shop(fleet: Fleet) -> Team:
    """Owns db-orders, which uses nfs-07."""
    state_tags(organisation=fleet.organisation, name="db-orders", tags=[SHOP])
    return set_team(
        organisation=fleet.organisation, name="Shop & co", tags=[SHOP], members=["viewer"]
    )


def text_of(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return " ".join(page_of(answer).text("main").split())


def test_operator_makes_changes_and_removes_a_team(fleet: Fleet) -> None:
    operator = client_of(fleet.people.operator)
    form = {"name": "search", "tags": "tag=a\r\nlabel.team=search", "members": ["viewer"]}
    make_roles()

    with acting_as(DatabaseRole.WEB):
        made = operator.post(reverse("make-team"), form)
        pk = Team.objects.get().pk
        operator.post(reverse("change-team", args=[pk]), {"tags": "tag=b", "members": []})
        changed = Team.objects.get()
        members = list(changed.members.all())
        operator.post(reverse("remove-team", args=[pk]))

    assert made["Location"] == reverse("team", args=[pk])
    assert (changed.name, changed.tags, members) == ("search", ["tag=b"], [])
    assert not Team.objects.exists()
    assert [one.action for one in AuditEntry.objects.order_by("number")][-3:] == [
        "state team", "state team", "remove team",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"name": " "}, "A team needs a name"),
        ({"name": "x", "tags": "shop"}, "is no tag; write it like"),
        ({"name": "x", "members": "outsider"}, 'has no member "outsider"'),
    ],
)
def test_wrong_team_is_told_and_not_made(fleet: Fleet, form: dict[str, str], why: str) -> None:
    operator = client_of(fleet.people.operator)

    answer = operator.post(reverse("make-team"), form, follow=True)

    assert why.lower() in page_of(answer).text("main").lower()
    assert not Team.objects.exists()


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("outsider", 404)])
def test_others_change_nothing(fleet: Fleet, shop: Team, who: str, status: int) -> None:
    client = client_of(getattr(fleet.people, who))
    row = Workload.objects.get(name="db-orders")

    answers = [
        client.post(reverse("change-team", args=[shop.pk]), {"tags": ""}),
        client.post(reverse("remove-team", args=[shop.pk])),
        client.post(reverse("give-tags", args=[row.pk]), {"tags": "tag=a"}),
    ]

    assert [one.status_code for one in answers] == [status] * 3
    assert Team.objects.get().tags == [SHOP]
    assert Workload.objects.get(name="db-orders").stated_tags == [SHOP]


def test_membership_of_a_team_gives_no_right(fleet: Fleet, shop: Team) -> None:
    viewer = client_of(fleet.people.viewer)
    row = Workload.objects.get(name="db-orders")

    assert shop.members.get().user == fleet.people.viewer
    assert viewer.post(reverse("give-tags", args=[row.pk]), {"tags": ""}).status_code == 403


def test_team_of_another_organisation_is_not_seen(
    fleet: Fleet, shop: Team, outsider: Client
) -> None:
    lakeside = Organisation.objects.get(slug="lakeside")
    set_team(organisation=lakeside, name="Lake team", tags=[SHOP])

    pages = [outsider.get(reverse("teams")), outsider.get("/", {"team": shop.name})]

    assert outsider.get(reverse("team", args=[shop.pk])).status_code == 404
    assert b"Lake team" in pages[0].content
    assert b"owns what has" in pages[0].content.lower()
    # What was asked for is told back; no page knows it.
    assert b"There is no team" in pages[1].content
    assert b'<option value="Shop' not in pages[0].content + pages[1].content


def test_team_page_lists_members_and_workloads(viewer: Client, shop: Team) -> None:
    text = text_of(viewer, reverse("team", args=[shop.pk]))

    assert "Team Shop & co owns 1 workload" in text
    assert f"Membersviewer Owns what has{SHOP}" in text
    assert "db-orders" in text
    assert "batch" not in text
    assert "Shop & co" in text_of(viewer, reverse("teams"))


def test_team_without_tags_owns_nothing(fleet: Fleet, viewer: Client) -> None:
    nobody = set_team(organisation=fleet.organisation, name="nobody", tags=[])

    text = text_of(viewer, reverse("team", args=[nobody.pk]))

    assert "Team nobody owns 0 workloads" in text
    assert "No workload with an allocation has one of its tags." in text


def test_workload_page_names_its_team_and_tags(fleet: Fleet, viewer: Client, shop: Team) -> None:
    row = Workload.objects.get(name="db-orders")
    other = Workload.objects.exclude(name="db-orders").order_by("pk")[0]

    text = text_of(viewer, reverse("workload", args=[row.pk]))

    assert f"TeamShop & co Tags{SHOP}" in text
    assert "Teamno team owns it Tagsnone" in text_of(viewer, reverse("workload", args=[other.pk]))


def test_operator_states_tags_on_the_page_of_a_workload(fleet: Fleet, shop: Team) -> None:
    operator = client_of(fleet.people.operator)
    row = Workload.objects.get(name="db-orders")
    address = reverse("give-tags", args=[row.pk])

    wrong = operator.post(address, {"tags": "shop"}, follow=True)
    operator.post(address, {"tags": "tag=a\n"})

    assert "is no tag; write it like" in page_of(wrong).text("main")
    row.refresh_from_db()
    assert (row.stated_tags, row.tags) == (["tag=a"], ["tag=a"])


def test_list_of_workloads_is_filtered_by_team(viewer: Client, shop: Team) -> None:
    page = page_of(viewer.get("/workloads/", {"team": "Shop & co"}))
    exported = viewer.get(
        "/workloads/", {"team": "shop*", "columns": ["name", "team"], "format": "csv"}
    )

    rows = [one for one in page.elements(".list th") if one.get("scope") == "row"]
    assert {one.all_text().strip() for one in rows} == {"db-orders"}
    assert exported.content.decode().splitlines()[1:] == ["db-orders,Shop & co"] * len(rows)


def test_list_has_no_filter_for_teams_where_there_are_none(viewer: Client, fleet: Fleet) -> None:
    assert not page_of(viewer.get("/workloads/")).elements("#table-team")
    assert page_of(viewer.get("/workloads/")).elements("#table-tier")


def overview(client: Client, part: str | None, **query: Any) -> str:
    if part is None:
        return client.get("/", query).content.decode()
    headers = {"HX-Request": "true"}
    return client.get("/", {"part": part, **query}, headers=headers).content.decode()


@pytest.mark.parametrize("part", [None, "", "heat", "hours", "lists", "movers"])
def test_overview_of_a_team_shows_what_its_workloads_use(
    viewer: Client, fleet: Fleet, shop: Team, part: str | None
) -> None:
    used = {one.resource.name for one in Workload.objects.get(name="db-orders").allocations.all()}
    others = fleet.resources.keys() - used

    whole = overview(viewer, part)
    shown = overview(viewer, part, team="Shop & co", movers="")

    assert others
    assert not [name for name in others if f">{name}<" in shown]
    assert "nfs-07" in whole
    assert "nfs-07" in shown
    if part in (None, "heat"):
        assert [name for name in others if f">{name}<" in whole]


def test_parts_of_the_overview_are_asked_for_with_the_team(viewer: Client, shop: Team) -> None:
    page = page_of(viewer.get("/", {"team": "Shop & co"}))

    asked = [one.get("hx-get") or "" for one in page.root.walk()]
    own = [one for one in asked if one.startswith("/?")]
    assert len(own) == 7
    assert all(parse_qs(urlsplit(one).query)["team"] == ["Shop & co"] for one in own)


def test_team_that_is_not_there_is_told_and_all_is_shown(viewer: Client, fleet: Fleet) -> None:
    page = viewer.get("/", {"team": "nobody"}).content.decode()

    assert 'There is no team "nobody". All is shown.' in page
    assert "nfs-07" in page


def test_team_that_uses_nothing_says_so(viewer: Client, fleet: Fleet) -> None:
    set_team(organisation=fleet.organisation, name="nobody", tags=["tag=nothing"])

    text = text_of(viewer, "/", team="nobody")

    assert "Team nobody uses no datastore or uplink" in text
