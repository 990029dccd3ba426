"""Who gets in, who sees what, who may decide."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Membership, Organisation, Role
from accounts.services.audit import verify
from advisor.models import Incident, Policy, Recommendation, RecommendationState, Workload
from ingest.models import Host
from tests.web.conftest import client_of
from tests.web.fleet import PASSWORD, Fleet

pytestmark = pytest.mark.any_database

LISTS = (
    "overview",
    "recommendations",
    "incidents",
    "workloads",
    "storage",
    "networks",
    "hosts",
    "imports",
    "health-of-sluice",
    "search",
    "members",
)


def details(fleet: Fleet) -> dict[str, str]:
    """The address of one page of each kind, and of what only operators may send."""
    resource = fleet.resources["nfs-07"].pk
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED).pk
    incident = Incident.objects.get(ended_at=None).pk
    host = fleet.hosts["kvm-02"].pk
    workload = Workload.objects.get(name="db-orders")
    return {
        "resource": reverse("resource", args=[resource]),
        "recommendation": reverse("recommendation", args=[advice]),
        "incident": reverse("incident", args=[incident]),
        "host": reverse("host", args=[host]),
        "workload": reverse("workload", args=[workload.pk]),
        "workload charts": reverse("workload-charts", args=[workload.pk]),
        "workload csv": reverse("workload-chart-csv", args=[workload.pk, f"rate-{resource}"]),
        "charts": reverse("resource-charts", args=[resource]),
        "csv": reverse("resource-chart-csv", args=[resource, "level"]),
        "host charts": reverse("host-charts", args=[host]),
        "host csv": reverse("host-chart-csv", args=[host, "sent"]),
    }


def decisions(fleet: Fleet) -> dict[str, tuple[str, dict[str, str]]]:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED).pk
    uplink = fleet.resources["kvm-02/eno1"].pk
    return {
        "approve": (reverse("approve", args=[advice]), {}),
        "reject": (reverse("reject", args=[advice]), {"reason": "not now"}),
        "roll back": (reverse("roll-back", args=[uplink]), {"version": "0"}),
    }


def nothing_was_decided() -> bool:
    proposed = Recommendation.objects.filter(state=RecommendationState.PROPOSED)
    return proposed.count() == 1 and Policy.objects.count() == 1


def test_stranger_is_sent_to_the_login_and_back(client: Client, fleet: Fleet) -> None:
    wanted = details(fleet)["resource"]

    answer = client.get(wanted)

    assert answer.status_code == 302
    assert answer.headers["Location"] == f"{reverse('login')}?next={wanted}"


def test_login_with_the_password_opens_the_page_that_was_wanted(
    client: Client, nothing_yet: Fleet
) -> None:
    form = {"login": "new-viewer", "password": PASSWORD, "next": "/hosts/"}

    answer = client.post(reverse("login"), form)

    assert answer.status_code == 302
    assert answer.headers["Location"] == "/hosts/"


def test_login_with_another_password_says_what_to_check(
    client: Client, nothing_yet: Fleet
) -> None:
    answer = client.post(reverse("login"), {"login": "new-viewer", "password": "wrong"})

    assert answer.status_code == 200
    assert b"Incorrect username or password" in answer.content
    assert b'aria-invalid="true"' in answer.content


def test_login_goes_to_no_other_site(client: Client, nothing_yet: Fleet) -> None:
    form = {"login": "new-viewer", "password": PASSWORD, "next": "https://evil.example/"}

    answer = client.post(reverse("login"), form)

    assert answer.headers["Location"] == "/"


def test_logging_out_takes_a_form_and_ends_the_session(viewer: Client) -> None:
    viewer.get(reverse("logout"))
    assert viewer.get("/").status_code == 200

    viewer.post(reverse("logout"))

    assert viewer.get("/").status_code == 302


def test_update_of_a_part_after_logging_out_is_401_not_the_login_page(
    client: Client, nothing_yet: Fleet
) -> None:
    answer = client.get("/", headers={"HX-Request": "true"})

    assert answer.status_code == 401


def test_every_page_is_shown_to_a_viewer(viewer: Client, fleet: Fleet) -> None:
    addresses = [reverse(name) for name in LISTS] + list(details(fleet).values())

    assert {address: viewer.get(address).status_code for address in addresses} == dict.fromkeys(
        addresses, 200
    )


def test_no_page_is_shown_to_an_outsider(outsider: Client, fleet: Fleet) -> None:
    addresses = list(details(fleet).values())

    assert {address: outsider.get(address).status_code for address in addresses} == dict.fromkeys(
        addresses, 404
    )


def test_lists_of_an_outsider_name_nothing_of_others(outsider: Client, fleet: Fleet) -> None:
    pages = [outsider.get(reverse(name), {"q": "kvm"}).content.decode() for name in LISTS]

    assert not any("kvm-0" in page or "nfs-07" in page for page in pages)


@pytest.mark.parametrize(
    ("who", "status"), [("viewer", 403), ("outsider", 404), ("operator", 302), ("owner", 302)]
)
@pytest.mark.parametrize("decision", ["approve", "reject", "roll back"])
def test_decision_takes_the_operator_role(
    fleet: Fleet, who: str, status: int, decision: str
) -> None:
    address, form = decisions(fleet)[decision]

    answer = client_of(getattr(fleet.people, who)).post(address, form)

    assert answer.status_code == status
    assert nothing_was_decided() is (status != 302)


@pytest.mark.parametrize("decision", ["approve", "reject", "roll back"])
def test_decision_is_recorded_with_who_and_from_where(fleet: Fleet, decision: str) -> None:
    address, form = decisions(fleet)[decision]

    client_of(fleet.people.operator).post(address, form, REMOTE_ADDR="192.0.2.7")

    (entry,) = AuditEntry.objects.filter(organisation=fleet.organisation)
    assert (entry.action, entry.actor, entry.address) == (decision, "operator", "192.0.2.7")
    assert verify(fleet.organisation).broken is None


@pytest.mark.parametrize("decision", ["approve", "reject", "roll back"])
def test_decision_is_never_made_by_following_a_link(
    operator: Client, fleet: Fleet, decision: str
) -> None:
    address, _ = decisions(fleet)[decision]

    assert operator.get(address).status_code == 405
    assert nothing_was_decided()


def test_decision_without_the_secret_of_the_form_is_refused(fleet: Fleet) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(fleet.people.operator)
    address, form = decisions(fleet)["approve"]

    answer = strict.post(address, form)

    assert answer.status_code == 403
    assert b"The form was too old" in answer.content
    assert nothing_was_decided()


def test_refusal_page_says_the_role_and_what_helps(viewer: Client, fleet: Fleet) -> None:
    address, form = decisions(fleet)["approve"]

    page = viewer.post(address, form).content.decode()

    assert "Your role in Northgate Cloud is viewer" in page
    assert "Nothing was changed" in page


def test_viewer_sees_no_button_that_would_be_refused(viewer: Client, fleet: Fleet) -> None:
    pages = details(fleet)

    shown = [
        viewer.get(address).content.decode()
        for address in (pages["recommendation"], pages["resource"])
    ]

    assert not any(word in page for page in shown for word in ("approve/", "reject/", "rollback/"))
    assert "Deciding takes the operator role" in shown[0]


def join(fleet: Fleet, slug: str) -> Client:
    """The viewer of the fleet, who is an operator of another organisation as well."""
    other = Organisation.objects.get(slug=slug)
    Membership.objects.create(organisation=other, user=fleet.people.viewer, role=Role.OPERATOR)
    Host.objects.create(organisation=other, name="lake-1")
    return client_of(fleet.people.viewer)


def organisation_of(answer: HttpResponse) -> str:
    return answer.context["workspace"].membership.organisation.slug


def test_switch_shows_the_other_organisation_and_is_remembered(fleet: Fleet) -> None:
    both = join(fleet, "lakeside")
    before = organisation_of(both.get("/hosts/"))
    other = {"lakeside": "northgate", "northgate": "lakeside"}[before]

    both.post(
        reverse("choose-organisation"),
        {"organisation": Organisation.objects.get(slug=other).pk},
    )

    assert organisation_of(both.get("/hosts/")) == other


def test_switch_to_a_strangers_organisation_is_refused(viewer: Client, fleet: Fleet) -> None:
    other = Organisation.objects.get(slug="lakeside")

    answer = viewer.post(reverse("choose-organisation"), {"organisation": other.pk})

    assert answer.status_code == 404


def test_link_into_ones_other_organisation_opens_there_with_its_role(fleet: Fleet) -> None:
    both = join(fleet, "lakeside")
    there = Host.objects.get(name="lake-1")

    shown = [both.get(details(fleet)["host"]), both.get(reverse("host", args=[there.pk]))]

    assert [organisation_of(answer) for answer in shown] == ["northgate", "lakeside"]
    assert [answer.context["workspace"].may_operate for answer in shown] == [False, True]


def test_somebody_without_an_organisation_is_told_so(db: None) -> None:
    lonely = client_of(get_user_model().objects.create_user(username="lonely"))

    answer = lonely.get("/")

    assert answer.status_code == 403
    assert b"You are not a member of an organisation yet" in answer.content


@pytest.mark.parametrize("address", ["/login/", "/password/reset/", "/signup/", "/nowhere/"])
def test_pages_allow_only_their_own_scripts(client: Client, db: None, address: str) -> None:
    policy = client.get(address).headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy


def test_unknown_address_has_a_page_with_a_way_back(viewer: Client) -> None:
    answer = viewer.get("/nowhere/")

    assert answer.status_code == 404
    assert b"There is nothing here that you can see" in answer.content
    assert b'href="/"' in answer.content
