"""The tour of a sample: six steps, each beside the page it is about, kept per member."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from accounts.models import Membership, Organisation
from advisor.models import Incident, Recommendation, RecommendationState
from tests.web.fleet import Fleet
from tests.web.html import Element, Page, page_of
from web.tour import STEPS

PAGES = ["/", "/incidents/{incident}/", "/recommendations/{advice}/"]


@pytest.fixture
def sample(fleet: Fleet) -> Fleet:
    """The noisy neighbour, as a sample."""
    Organisation.objects.filter(pk=fleet.organisation.pk).update(is_sample=True)
    return fleet


def step(client: Client, number: int) -> str:
    """The page to which a step leads, without the mark in it."""
    answer = client.post(reverse("tour-step"), {"step": number})
    assert answer.status_code == 302
    address, _, mark = answer["Location"].partition("#")
    assert mark == "tour"
    return address


def bar(page: Page) -> Element:
    (found,) = page.elements("aside")
    return found


def test_new_member_is_at_the_first_step(sample: Fleet, operator: Client) -> None:
    shown = bar(page_of(operator.get("/")))

    assert "step 1 of 6 What is wrong now" in shown.all_text()
    assert [one.all_text() for one in shown.elements_of("button")] == ["Next", "Close the tour"]


def test_organisation_that_is_no_sample_has_no_tour(fleet: Fleet, operator: Client) -> None:
    assert page_of(operator.get("/")).elements("aside") == []
    assert "Go on with the tour" not in operator.get("/").content.decode()
    for name in ("tour-step", "close-tour"):
        assert operator.post(reverse(name)).status_code == 404
    assert operator.get(reverse("tour")).status_code == 404


def test_each_step_leads_to_the_page_it_is_about(sample: Fleet, operator: Client) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    page = f"/recommendations/{advice.pk}/"

    pages = [step(operator, number) for number in range(1, 7)]

    assert advice.incident_id is not None
    assert pages[:5] == ["/", f"/incidents/{advice.incident_id}/", page, page, page]
    assert pages[5] == "/reports/?period=days&first=2026-11-19&last=2026-11-20&zone=UTC"
    for number, address in enumerate(pages, start=1):
        step(operator, number)
        shown = bar(page_of(operator.get(address)))
        assert f"step {number} of 6 {STEPS[number - 1].title}" in shown.all_text()
        assert "Go to its page" not in shown.all_text()
        assert resolve(address.partition("?")[0]).view_name in STEPS[number - 1].pages


def test_measured_step_shows_what_was_approved(sample: Fleet, operator: Client) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    assert operator.post(reverse("approve", args=[advice.pk])).status_code == 302

    assert step(operator, 5) == f"/recommendations/{advice.pk}/"


def test_steps_lead_to_lists_while_nothing_was_found(sample: Fleet, operator: Client) -> None:
    Recommendation.objects.all().delete()
    Incident.objects.all().delete()

    pages = [step(operator, number) for number in (2, 3, 5)]

    assert pages == ["/incidents/", "/recommendations/", "/recommendations/"]


def test_step_is_kept_for_the_member_alone(
    sample: Fleet, operator: Client, viewer: Client
) -> None:
    step(operator, 4)

    assert "step 4 of 6" in bar(page_of(operator.get("/hosts/"))).all_text()
    assert "step 1 of 6" in bar(page_of(viewer.get("/hosts/"))).all_text()


def test_page_beside_the_way_leads_back_to_the_step(sample: Fleet, operator: Client) -> None:
    step(operator, 2)
    incident = Incident.objects.get().pk

    link = bar(page_of(operator.get("/hosts/"))).elements_of("a")[0]

    assert link.all_text() == "Go to its page"
    answer = operator.get(link["href"])
    assert answer["Location"] == f"/incidents/{incident}/#tour"


def test_closed_tour_is_resumed_where_it_was(sample: Fleet, operator: Client) -> None:
    step(operator, 3)

    closed = operator.post(reverse("close-tour"), {"back": "/hosts/?q=kvm"})

    assert closed["Location"] == "/hosts/?q=kvm"
    page = operator.get("/hosts/")
    assert page_of(page).elements("aside") == []
    assert "Go on with the tour" in page.content.decode()
    resumed = operator.post(reverse("tour-step"))
    assert resumed["Location"].startswith("/recommendations/")
    assert "step 3 of 6" in bar(page_of(operator.get("/hosts/"))).all_text()


@pytest.mark.parametrize("back", ["https://elsewhere.example/", "//elsewhere.example/", "", "x"])
def test_closing_leads_nowhere_else(sample: Fleet, operator: Client, back: str) -> None:
    assert operator.post(reverse("close-tour"), {"back": back})["Location"] == "/"


@pytest.mark.parametrize("asked", ["0", "7", "-1", "two", "٣", "1.0", ""])
def test_step_that_is_none_is_refused(sample: Fleet, operator: Client, asked: str) -> None:
    assert operator.post(reverse("tour-step"), {"step": asked}).status_code == 404
    assert Membership.objects.get(user=sample.people.operator).tour_step == 1


def test_step_of_a_longer_tour_is_the_last(sample: Fleet, operator: Client) -> None:
    Membership.objects.filter(user=sample.people.operator).update(tour_step=9)

    assert "step 6 of 6 Report it" in bar(page_of(operator.get("/"))).all_text()


def test_tour_costs_pages_no_query(fleet: Fleet, operator: Client) -> None:
    operator.get("/teams/")
    with CaptureQueriesContext(
        connection,
    ) as before:
        operator.get("/teams/")
    Organisation.objects.filter(pk=fleet.organisation.pk).update(is_sample=True)

    with CaptureQueriesContext(connection) as after:
        operator.get("/teams/")

    assert len(after) == len(before)


def test_member_of_two_organisations_goes_to_the_sample(sample: Fleet, operator: Client) -> None:
    other = Organisation.objects.create(slug="aaa-first", name="First")
    Membership.objects.create(organisation=other, user=sample.people.operator)
    operator.post(reverse("choose-organisation"), {"organisation": other.pk})

    step(operator, 1)

    assert "step 1 of 6" in bar(page_of(operator.get("/"))).all_text()


def test_sample_is_removed_by_one_click(sample: Fleet, operator: Client) -> None:
    owner = Client()
    owner.force_login(sample.people.owner)
    page = page_of(owner.get("/settings/organisation/"))
    (form,) = [
        one for one in page.elements("form") if "delete" in one.attributes.get("action", "")
    ]
    fields = {one["name"]: one["value"] for one in form.elements_of("input")}

    owner.post(form["action"], fields)

    assert Organisation.objects.get(pk=sample.organisation.pk).deletion_due_at == sample.now
    assert "is being deleted" in owner.get("/settings/organisation/").content.decode()
    assert operator.post(form["action"], fields).status_code == 403
