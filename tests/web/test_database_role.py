"""Pages, decisions and tasks on a whole story, with the rights of the process in the database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from advisor import tasks
from advisor.decisions.enrolment import enroll
from advisor.models import FailedWork, Policy, Recommendation, RecommendationState, Resource
from config.database_roles import DatabaseRole
from enforcers.signature import SignatureKind
from enforcers.wire_signatures import document_media
from tests.config.roles import acting_as, make_roles
from tests.web.fleet import PASSWORD, Fleet
from tests.web.test_accessibility import FOR_ADMINS, PAGES


@pytest.fixture
def web_rights(fleet: Fleet, operator: Client) -> Iterator[None]:
    """The owner makes everything; then the test acts as a web server."""
    make_roles()
    with acting_as(DatabaseRole.WEB):
        yield


@pytest.mark.usefixtures("web_rights")
def test_every_page_is_shown(operator: Client, fleet: Fleet) -> None:
    owner = Client()
    owner.force_login(fleet.people.owner)
    addresses = {name: address(fleet) for name, address in PAGES.items()}

    answers = {
        name: (owner if name in FOR_ADMINS else operator).get(address).status_code
        for name, address in addresses.items()
    }

    assert answers == dict.fromkeys(PAGES, 200)


@pytest.mark.usefixtures("web_rights")
def test_person_logs_in_and_out(client: Client, fleet: Fleet) -> None:
    form = {"login": fleet.people.operator.get_username(), "password": PASSWORD}

    logged_in = client.post(reverse("login"), form)

    assert logged_in.status_code == 302
    assert client.post(reverse("logout")).status_code == 302


@pytest.mark.usefixtures("web_rights")
def test_recommendation_is_approved_and_its_agent_gets_the_document(
    operator: Client, client: Client, fleet: Fleet
) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    before = Policy.objects.count()
    enrolled = enroll(organisation=fleet.organisation, host_name="kvm-02")

    approved = operator.post(reverse("approve", args=[advice.pk]))
    document = client.get(
        reverse("enforcer-document"),
        headers={
            "Authorization": f"Bearer {enrolled.token}",
            "Accept": document_media(SignatureKind.ED25519),
        },
    )

    assert (approved.status_code, document.status_code) == (302, 200)
    assert Policy.objects.count() == before + 1
    advice.refresh_from_db()
    assert advice.state == RecommendationState.APPROVED


def test_every_task_is_done_with_the_rights_of_a_worker(fleet: Fleet) -> None:
    make_roles()

    with acting_as(DatabaseRole.WORKER):
        for pk in Resource.objects.values_list("pk", flat=True):
            for task in (
                tasks.detect_resource, tasks.recommend_resource, tasks.advise_resource,
                tasks.place_on_hosts,
            ):  # fmt: skip
                task.apply((pk,), throw=True)
        for pk in Recommendation.objects.values_list("pk", flat=True):
            tasks.score_prediction.apply((pk,), throw=True)
            tasks.act.apply((pk,), throw=True)
        tasks.discover_organisation.apply((fleet.organisation.pk,), throw=True)
        tasks.tidy.apply(throw=True)

    assert Recommendation.objects.filter(state=RecommendationState.PROPOSED).exists()
    assert not FailedWork.objects.exists()
