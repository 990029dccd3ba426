"""What a host gets to enforce: signed, leased, and only its own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from advisor.decisions import inventory
from advisor.decisions.decide import approve
from advisor.decisions.documents import current_document
from advisor.decisions.enrolment import enroll
from advisor.models import AdapterKind, PublishedDocument, Resource, ResourceKind
from enforcers.contract import SignatureError, verify
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_document_is_signed_for_its_host_only(cluster: Cluster) -> None:
    other = enroll(organisation=cluster.organisation, host_name="h2")

    document = current_document(host=cluster.enrolment.host, now=NOW)

    verify(document, cluster.enrolment.signing_key.encode())
    with pytest.raises(SignatureError):
        verify(document, other.signing_key.encode())
    with pytest.raises(SignatureError):
        verify(replace(document, dry_run=True), cluster.enrolment.signing_key.encode())


def test_document_before_any_policy_has_no_allocations(cluster: Cluster) -> None:
    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert document.allocations == ()
    assert document.resources == ()


def test_document_carries_what_was_approved(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    web_1, web_2, web_3 = document.allocations
    assert (web_1.workload, web_1.reservation, web_1.selector.value) == ("web-1", 75 * MBIT, "p1")
    # 75 of 94 are reserved, the other 19 are shared by three
    assert web_1.entitlement == pytest.approx(75 * MBIT + 19 * MBIT / 3)
    assert web_2.entitlement == web_3.entitlement == pytest.approx(19 * MBIT / 3)
    assert document.resources[0].capacity == 94 * MBIT
    assert document.resources[0].device == "up0"


def test_pulling_again_renews_the_lease_of_the_same_revision(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    later = NOW + timedelta(minutes=5)

    first = current_document(host=cluster.enrolment.host, now=NOW)
    second = current_document(host=cluster.enrolment.host, now=later)

    assert first.revision == second.revision
    assert second.issued_at == later
    assert second.expires_at == later + timedelta(seconds=900)
    assert PublishedDocument.objects.count() == 1


def test_policy_of_one_host_stays_off_the_others(cluster: Cluster) -> None:
    other = enroll(organisation=cluster.organisation, host_name="h2")
    inventory.add_resource(
        organisation=cluster.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        capacity=94 * MBIT,
    )
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=other.host, now=NOW)

    assert document.allocations == ()


def test_changed_adapter_makes_a_new_revision(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    before = current_document(host=cluster.enrolment.host, now=NOW)
    inventory.set_allocation(
        resource=cluster.uplink,
        workload_name="web-1",
        host_name="h1",
        adapter_kind=AdapterKind.VNIC,
        adapter="p9",
        reservation=75 * MBIT,
    )

    after = current_document(host=cluster.enrolment.host, now=NOW)

    assert after.revision == before.revision + 1
    assert after.allocations[0].selector.value == "p9"


def test_policy_approved_with_a_measured_capacity_is_published_with_it(cluster: Cluster) -> None:
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=None)
    approve(
        recommendation=propose(cluster, capacity=90 * MBIT), user=cluster.people.owner, now=NOW
    )

    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert len(document.allocations) == 3
    assert document.resources[0].capacity == 90 * MBIT


def test_stated_capacity_wins_over_the_one_a_policy_was_approved_with(cluster: Cluster) -> None:
    approve(
        recommendation=propose(cluster, capacity=90 * MBIT), user=cluster.people.owner, now=NOW
    )

    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert document.resources[0].capacity == 94 * MBIT
