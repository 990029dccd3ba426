"""A document is composed again when what it is made of has changed, and not before."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from advisor.decisions import document_sources, documents, inventory
from advisor.decisions.decide import approve
from advisor.decisions.document_sources import mark_of
from advisor.decisions.documents import current_document, publish_document
from advisor.decisions.enrolment import enroll
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Enforcer,
    LimitScope,
    Policy,
    PolicyRollout,
    PublishedDocument,
    Resource,
    RolloutHost,
    Workload,
)
from advisor.models.rollout import PolicyStage
from tests.advisor.agent_support import SUPPORT, state_support
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose

OF_THE_ANSWER = {
    "advisor_enforcer",
    "advisor_publisheddocument",
    # Its name is told beside the content.
    "ingest_host",
    # By its name rows are in order.
    "accounts_organisation",
}
"""What composing reads and need not be marked: the row with the mark, and what was composed."""


@pytest.fixture
def cluster(db: None) -> Cluster:
    cluster = make_cluster()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    current_document(host=cluster.enrolment.host, now=NOW)
    return cluster


def add_host(cluster: Cluster, name: str) -> None:
    """Another host of the same uplink, as a second agent."""
    enrolment = enroll(organisation=cluster.organisation, host_name=name)
    state_support(enrolment.host)
    Attachment.objects.create(resource=cluster.uplink, host=enrolment.host, device="up0")


def state_jointly(cluster: Cluster, *, limit: float) -> None:
    """web-2 also runs on h2, under one limit of both hosts; in force for both."""
    if not Attachment.objects.filter(host__name="h2").exists():
        add_host(cluster, "h2")
        inventory.set_allocation(
            resource=cluster.uplink,
            workload_name="web-2",
            host_name="h2",
            adapter_kind=AdapterKind.VNIC,
            adapter="p1",
            limit=limit,
        )
    Allocation.objects.filter(workload__name="web-2").update(limit_scope=LimitScope.POOLED)
    add_version(cluster, limit=limit)


def add_version(cluster: Cluster, *, limit: float | None = None) -> Policy:
    newest = Policy.objects.order_by("-version").first()
    return Policy.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        version=newest.version + 1,
        allocations=[
            {
                "allocation": one.pk, "workload": one.workload.name, "reservation": 0.0,
                "limit": limit if one.workload.name == "web-2" else None, "shares": 500,
                "entitlement": 1 * MBIT,
            }
            for one in Allocation.objects.select_related("workload")
        ],
        capacity=94 * MBIT,
        created_at=NOW,
    )  # fmt: skip


def roll_out(cluster: Cluster) -> PolicyRollout:
    """A version that h1 has not been given yet."""
    policy = add_version(cluster)
    return PolicyRollout.objects.create(
        organisation=cluster.organisation,
        policy=policy,
        former=Policy.objects.get(version=policy.version - 1),
        state=PolicyStage.ROLLING_OUT,
        sizes=[0, 1],
        guarded=False,
        started_at=NOW,
        published_at=NOW,
    )


def release(cluster: Cluster) -> None:
    rollout = PolicyRollout.objects.latest("pk")
    RolloutHost.objects.create(
        rollout=rollout, host=cluster.enrolment.host, stage=0, released_at=NOW
    )


CHANGES: dict[str, Callable[[Cluster], object]] = {
    "capacity": lambda c: Resource.objects.update(capacity=80 * MBIT),
    "name of the resource": lambda c: Resource.objects.update(name="h1/up0 renamed"),
    "device": lambda c: Attachment.objects.update(device="up1"),
    "device is gone": lambda c: Attachment.objects.all().delete(),
    "name of a workload": lambda c: Workload.objects.filter(name="web-1").update(name="web-9"),
    "adapter": lambda c: Allocation.objects.filter(workload__name="web-1").update(adapter="p9"),
    "allocation is gone": lambda c: Allocation.objects.filter(workload__name="web-1").delete(),
    "version": add_version,
    "other mechanism": lambda c: state_support(
        c.enrolment.host, (replace(SUPPORT[0], mechanism="tc_edt"), *SUPPORT[1:])
    ),
    "agent supports nothing": lambda c: state_support(c.enrolment.host, ()),
    "other host of a limit": lambda c: state_jointly(c, limit=20 * MBIT),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_answered_after_a_change_is_what_is_composed_anew(
    cluster: Cluster, what: str
) -> None:
    host = cluster.enrolment.host
    before = current_document(host=host, now=NOW)

    CHANGES[what](cluster)
    answered = current_document(host=host, now=NOW)

    assert publish_document(host=host, now=NOW).revision == answered.revision
    assert answered.revision == before.revision + 1


def test_stages_of_a_version_reach_the_host_one_after_the_other(cluster: Cluster) -> None:
    host = cluster.enrolment.host
    end_guards()
    before = current_document(host=host, now=NOW).revision
    rollout = roll_out(cluster)

    held_back = current_document(host=host, now=NOW)
    release(cluster)
    given = current_document(host=host, now=NOW)
    PolicyRollout.objects.filter(pk=rollout.pk).update(stage=1)
    last = current_document(host=host, now=NOW)

    assert held_back.revision == before
    assert given.revision == before + 1
    assert {one.shares for one in given.allocations if one.selector.kind == "vnic"} == {500}
    assert last.revision == given.revision


def test_part_of_a_limit_follows_the_other_host(cluster: Cluster) -> None:
    """What the other host has reserved is a row of that host alone."""
    host = cluster.enrolment.host
    state_jointly(cluster, limit=20 * MBIT)
    before = current_document(host=host, now=NOW)
    Allocation.objects.filter(host__name="h2").update(limit_scope=LimitScope.PER_VDISK)

    after = current_document(host=host, now=NOW)

    limits = [
        next(one.limit for one in document.allocations if one.workload == "web-2")
        for document in (before, after)
    ]
    assert limits == [10 * MBIT, 20 * MBIT]


def test_what_guards_of_a_rollout_find_composes_nothing(
    cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rollout = roll_out(cluster)
    current_document(host=cluster.enrolment.host, now=NOW)
    PolicyRollout.objects.filter(pk=rollout.pk).update(waits_for="too little is known yet")

    with django_assert_num_queries(1):
        current_document(host=cluster.enrolment.host, now=NOW)


def test_asking_again_is_one_statement(
    cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    later = NOW + timedelta(seconds=10)

    with django_assert_num_queries(1):
        document = current_document(host=cluster.enrolment.host, now=later)

    assert document.issued_at == later


def test_when_the_agent_asked_is_noted_each_half_minute(cluster: Cluster) -> None:
    noted = []
    for seconds in (10, 30, 31, 40, 62):
        current_document(host=cluster.enrolment.host, now=NOW + timedelta(seconds=seconds))
        noted.append((Enforcer.objects.get().last_pull_at - NOW).total_seconds())

    assert noted == [0, 0, 31, 31, 62]


def test_all_that_is_read_to_compose_is_marked(cluster: Cluster) -> None:
    """Else a change of it would reach no host."""
    state_jointly(cluster, limit=20 * MBIT)
    roll_out(cluster)
    with CaptureQueriesContext(connection) as asked:
        publish_document(host=cluster.enrolment.host, now=NOW)
    read = {
        table for one in asked for table in re.findall(r'(?:FROM|JOIN) "(\w+)"', one["sql"] or "")
    }
    marked = set(
        re.findall(r"(?:FROM|JOIN) (\w+) AS|FROM (advisor_policy)", document_sources._MARK)
    )

    assert len(read) > len(OF_THE_ANSWER)
    assert read - OF_THE_ANSWER <= {name for names in marked for name in names}


def test_composing_by_another_release_is_composed_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[int] = []
    compose = documents._content
    monkeypatch.setattr(
        documents, "_content", lambda *given: composed.append(1) or compose(*given)
    )
    current_document(host=cluster.enrolment.host, now=NOW)
    assert not composed

    monkeypatch.setitem(document_sources._VALUES, "version", "9.9.9")
    current_document(host=cluster.enrolment.host, now=NOW)

    assert composed


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_one_who_publishes_gets_what_that_one_published() -> None:
    cluster = make_cluster()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    host = cluster.enrolment.host
    before = current_document(host=host, now=NOW)
    # The change is committed, and its document is not yet when the agent asks.
    Allocation.objects.filter(workload__name="web-1").update(adapter="p9")
    answers: list[int] = []

    def ask() -> None:
        answers.append(current_document(host=host, now=NOW).revision)
        connections.close_all()

    with transaction.atomic():
        published = publish_document(host=host, now=NOW)
        agent = Thread(target=ask)
        agent.start()
        agent.join(0.5)
        assert not answers
    agent.join(10)

    assert published.revision == before.revision + 1
    assert answers == [published.revision]
    assert PublishedDocument.objects.count() == 2


def test_mark_is_of_the_one_host(cluster: Cluster) -> None:
    add_host(cluster, "h2")
    before = mark_of(cluster.enrolment.host.pk)

    Attachment.objects.filter(host__name="h2").update(device="up7")

    assert mark_of(cluster.enrolment.host.pk) == before
