"""Views of pages that are saved under a name: one's own, or shared by the organisation."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from advisor.core.saved_views import LONGEST_QUERY, MOST_VIEWS, ViewedPage, saved_query
from advisor.models import SavedView
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Element, Page, page_of

pytestmark = pytest.mark.django_db


def save(client: Client, **fields: str) -> str:
    """Where it leads and what is said."""
    sent = {"page": "workloads", "query": "q=db&sort=-rate", "name": "Databases", **fields}
    answer = client.post(reverse("save-view"), sent, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def menu(client: Client, address: str = "/workloads/") -> Element:
    page: Page = page_of(client.get(address))
    (found,) = [one for one in page.elements("details") if "views-menu" in one.classes]
    return found


def named(client: Client, address: str = "/workloads/") -> dict[str, str]:
    """The address of each view in the menu."""
    return {one.all_text(): one["href"] for one in menu(client, address).elements_of("a")}


def test_view_is_saved_shown_and_picked(operator: Client, fleet: Fleet) -> None:
    said = save(operator)

    assert "The view Databases is saved." in said
    assert named(operator) == {"Databases": "/workloads/?q=db&sort=-rate"}
    picked = menu(operator, "/workloads/?q=db&sort=-rate")
    assert picked.elements_of("summary")[0].all_text() == "View: Databases"
    assert picked.elements_of("a")[0].get("aria-current") == "true"
    assert menu(operator).elements_of("summary")[0].all_text() == "Views"


def test_menu_offers_what_the_page_shows(operator: Client) -> None:
    fields = {
        one["name"]: one.get("value")
        for one in menu(operator, "/workloads/?q=db&page=2&format=&group=tier").elements_of(
            "input"
        )
        if one.get("type") == "hidden" and one["name"] != "csrfmiddlewaretoken"
    }

    # Where one is in the list is no part of a view.
    assert fields == {"page": "workloads", "query": "q=db&group=tier"}


def test_own_view_is_seen_by_nobody_else(operator: Client, viewer: Client) -> None:
    save(operator)

    assert named(viewer) == {}
    row = SavedView.objects.get()
    assert viewer.post(reverse("remove-view", args=[row.pk])).status_code == 404
    assert SavedView.objects.exists()


def test_shared_view_is_seen_by_all_and_removed_by_who_decides(
    operator: Client, viewer: Client, outsider: Client
) -> None:
    save(operator, shared="on")

    row = SavedView.objects.get()
    assert row.member is None
    assert list(named(viewer)) == ["Databases"]
    assert menu(viewer).elements_of("form")[-1]["action"] == reverse("save-view")
    assert len(menu(viewer).elements_of("form")) == 1
    assert viewer.post(reverse("remove-view", args=[row.pk])).status_code == 403
    assert outsider.post(reverse("remove-view", args=[row.pk])).status_code == 404
    operator.post(reverse("remove-view", args=[row.pk]))
    assert not SavedView.objects.exists()


def test_viewer_saves_for_themselves_alone(viewer: Client) -> None:
    save(viewer)
    assert SavedView.objects.get().member is not None

    refused = viewer.post(
        reverse("save-view"), {"page": "workloads", "name": "x", "query": "", "shared": "on"}
    )

    assert refused.status_code == 403
    assert SavedView.objects.count() == 1
    assert not [one for one in menu(viewer).elements_of("input") if one["name"] == "shared"]


def test_view_of_the_same_name_is_replaced(operator: Client) -> None:
    save(operator)
    save(operator, query="q=web")
    save(operator, query="q=all", shared="on")
    save(operator, query="group=tier", page="overview")

    rows = SavedView.objects.order_by("pk").values_list("page", "name", "query")
    assert list(rows) == [
        ("workloads", "Databases", "q=web"),
        ("workloads", "Databases", "q=all"),
        ("overview", "Databases", "group=tier"),
    ]


def test_views_go_with_their_member(operator: Client, fleet: Fleet) -> None:
    save(operator)
    save(operator, name="ours", shared="on")

    fleet.organisation.memberships.get(user=fleet.people.operator).delete()

    assert [one.name for one in SavedView.objects.all()] == ["ours"]


@pytest.mark.parametrize("page", ViewedPage)
def test_each_page_with_views_shows_them(operator: Client, page: ViewedPage) -> None:
    save(operator, page=page, query="")

    assert named(operator, reverse(page)) == {"Databases": reverse(page)}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": " "}, "it needs a name"),
        ({"name": "a\tb"}, "letters that can be printed"),
        ({"name": "n" * 201}, "it can have 200"),
        ({"query": "q=" + "d" * LONGEST_QUERY}, f"at most {LONGEST_QUERY}"),
        ({"query": "q=%00"}, "cannot be stored"),
        ({"query": "&".join(["q=d"] * 101)}, "The view was not saved"),
    ],
    ids=["blank", "tab", "long name", "long address", "nul", "many fields"],
)
def test_view_that_cannot_be_is_refused_with_its_reason(
    operator: Client, fields: dict[str, str], why: str
) -> None:
    assert why in save(operator, **fields)
    assert not SavedView.objects.exists()


def test_page_without_views_is_refused(operator: Client) -> None:
    sent = {"page": "members", "query": "", "name": "x"}

    assert operator.post(reverse("save-view"), sent).status_code == 404


def test_there_is_a_bound(operator: Client, fleet: Fleet) -> None:
    member = fleet.organisation.memberships.get(user=fleet.people.operator)
    SavedView.objects.bulk_create(
        SavedView(
            organisation=fleet.organisation, member=member, page="workloads", name=str(number)
        )
        for number in range(MOST_VIEWS)
    )

    assert "remove one first" in save(operator)
    # One that is there can still be changed.
    assert "is saved" in save(operator, name="7")


def test_names_are_escaped(operator: Client) -> None:
    save(operator, name="<b>x</b>", query='q="><script>')

    page = operator.get("/workloads/").content.decode()
    assert "<b>x</b>" not in page
    assert "<script>" not in page.partition("<body>")[2]


def test_only_what_is_asked_for_is_kept() -> None:
    assert saved_query("?q=db&sort=&page=3&part=map&group=tag%3Aapp") == "q=db&group=tag%3Aapp"
    assert saved_query("") == ""


def test_outsider_is_offered_nothing_of_it(operator: Client, fleet: Fleet) -> None:
    save(operator, shared="on")

    stranger = client_of(fleet.people.outsider)
    assert "Databases" not in stranger.get("/workloads/").content.decode()
