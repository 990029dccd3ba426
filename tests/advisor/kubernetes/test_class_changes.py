"""Claims are given another class where an admin approves a limit, and only there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accounts.actor import Actor
from accounts.errors import NotAllowed
from accounts.models import AuditEntry
from accounts.roles import Role
from advisor.decisions.decide import approve, approve_by_rule
from advisor.decisions.kubernetes.class_changes import (
    asked_changes_text,
    planned_changes,
    undo_change,
)
from advisor.decisions.rollouts.steer import stop_rollouts
from advisor.decisions.sources import reading
from advisor.errors import DecisionRefused
from advisor.models import (
    ClassChange,
    ClusterClaim,
    ClusterPod,
    ReadSource,
    Recommendation,
    VolumeClass,
    Workload,
)
from advisor.models.source import SourceKind
from tests.advisor.kubernetes.small_cluster import TOKEN, SmallCluster, small_cluster
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
ADMIN = Actor(name="ann", role=Role.ADMIN)
CLAIM = "/api/v1/namespaces/shop/persistentvolumeclaims"
DRIVER = "csi.example.net"


@pytest.fixture
def api(settings: Settings) -> Iterator[SmallCluster]:
    settings.SOURCE_ADDRESSES = "any"
    with small_cluster() as running:
        running.lists[CLAIM] = [said("silver")]
        yield running


@pytest.fixture
def fleet() -> Cluster:
    return make_cluster()


def said(asked: str | None, current: str | None = None, **status: Any) -> dict[str, Any]:
    """A claim as its cluster says it."""
    about = {"uid": "c-1", "namespace": "shop", "name": "data-db-0", "resourceVersion": "7"}
    return {
        "metadata": about,
        "spec": {"volumeAttributesClassName": asked},
        "status": {"currentVolumeAttributesClassName": current or asked, **status},
    }


def claimed(fleet: Cluster, api: SmallCluster | None = None, **of_source: Any) -> ReadSource:
    """The workload web-2 is a pod whose claim lies on the uplink of the scenario.

    That it is no datastore makes no difference: a limit is a limit, in the unit of the resource.
    """
    source = ReadSource.objects.create(
        organisation=fleet.organisation, kind=SourceKind.KUBERNETES, name="main",
        address=api.url if api else "https://k.example.org", password=TOKEN,
        next_at=NOW + timedelta(days=1), takes_over=True,
        **{"class_rates": "iops=IOPS", **of_source},
    )  # fmt: skip
    fleet.uplink.unit = "iops"
    fleet.uplink.save()
    ClusterPod.objects.create(
        organisation=fleet.organisation, source=source, uid="p-1", namespace="shop", name="db-0",
        claims=["data-db-0"], workload=Workload.objects.get(name="web-2"),
    )  # fmt: skip
    ClusterClaim.objects.create(
        organisation=fleet.organisation, source=source, uid="c-1", namespace="shop",
        name="data-db-0", driver=DRIVER, volume="pvc-1", resource=fleet.uplink,
        asked_class="silver",
    )  # fmt: skip
    for name, iops in {"gold": "4000", "silver": "2000", "bronze": "500"}.items():
        VolumeClass.objects.create(
            organisation=fleet.organisation, source=source, name=name, driver=DRIVER,
            parameters={"iops": iops},
        )  # fmt: skip
    return source


def advise(fleet: Cluster, limit: float = 800.0, finding: str = "not_holding") -> Recommendation:
    row = {"name": "web-2", "finding": finding, "limit_iops": limit}
    return Recommendation.objects.create(
        organisation=fleet.organisation, resource=fleet.uplink, topic="limit_check",
        kind="limit_check", subject="web-2", summary="Limits of web-2", inputs="{}",
        answer=json.dumps({"limits": [row]}), created_at=NOW,
        expires_at=NOW + timedelta(hours=24),
    )  # fmt: skip


def approved(fleet: Cluster, limit: float = 800.0) -> Recommendation:
    row = advise(fleet, limit)
    approve(recommendation=row, user=fleet.people.owner, now=NOW)
    return row


def work(source: ReadSource, *, at: datetime = NOW) -> ClassChange:
    """A worker's turn."""
    reading.read_where_due(source.pk, now=at)
    return ClassChange.objects.latest("pk")


def test_approved_limit_is_held_by_the_class_that_comes_nearest_from_below(
    fleet: Cluster, api: SmallCluster
) -> None:
    source = claimed(fleet, api)
    row = approved(fleet, 800.0)
    assert "shop/data-db-0 to bronze" in asked_changes_text(row)
    assert reading.due_sources(now=NOW).get() == source

    change = work(source)
    assert (change.state, change.former, change.wanted) == ("checking", "silver", "bronze")
    wanted = {"volumeAttributesClassName": "bronze"}
    # Tried first, then done.
    assert api.changes == [("data-db-0", wanted, "All"), ("data-db-0", wanted, "")]
    assert not reading.due_sources(now=NOW).exists()
    api.lists[CLAIM] = [said("bronze", "silver", modifyVolumeStatus={"status": "InProgress"})]
    assert work(source, at=NOW + MINUTE).said == "InProgress"
    api.lists[CLAIM] = [said("bronze")]
    change = work(source, at=NOW + 2 * MINUTE)

    assert (change.state, change.said) == ("done", "")
    told = AuditEntry.objects.filter(subject="shop/data-db-0").order_by("number")
    assert [one.action for one in told] == [
        "change the class of a claim", "see what became of a class",
    ]  # fmt: skip
    assert {one.details["asked_by"] for one in told} == {"owner"}


def test_approval_by_an_operator_or_by_a_rule_changes_no_class(
    fleet: Cluster, api: SmallCluster
) -> None:
    claimed(fleet, api)

    approve(recommendation=advise(fleet), user=fleet.people.operator, now=NOW)
    approve_by_rule(recommendation=advise(fleet), rule="r", now=NOW)

    assert not ClassChange.objects.exists()


@pytest.mark.parametrize(
    ("limit", "finding", "wanted"),
    [
        (800.0, "not_holding", ["bronze"]),
        (9000.0, "not_holding", ["gold"]),
        (499.0, "not_holding", []),
        (2500.0, "not_holding", []),
        (800.0, "over_throttled", []),
    ],
    ids=["below", "far above", "none is small enough", "it has it", "it holds"],
)
def test_class_is_chosen_by_the_limit(
    fleet: Cluster, limit: float, finding: str, wanted: list[str]
) -> None:
    claimed(fleet)

    plan = planned_changes(advise(fleet, limit, finding))

    assert [one.wanted for one in plan.changes] == wanted


@pytest.mark.parametrize(
    "why",
    ["no parameters", "paused", "removed", "another driver", "elsewhere", "two claims", "shared"],
)
def test_claim_that_is_not_known_to_be_the_one_is_left(fleet: Cluster, why: str) -> None:
    columns: dict[str, dict[str, Any]] = {
        "no parameters": {"class_rates": ""},
        "paused": {"paused_at": NOW},
        "removed": {"removed_at": NOW},
    }
    source = claimed(fleet, **columns.get(why, {}))
    if why == "another driver":
        ClusterClaim.objects.update(driver="other.example.net")
    elif why == "elsewhere":
        ClusterClaim.objects.update(resource=None)
    elif why == "two claims":
        ClusterPod.objects.update(claims=["data-db-0", "more"])
        ClusterClaim.objects.create(
            organisation=fleet.organisation, source=source, uid="c-2", namespace="shop",
            name="more", driver=DRIVER, resource=fleet.uplink,
        )  # fmt: skip
    elif why == "shared":
        ClusterPod.objects.create(
            organisation=fleet.organisation, source=source, uid="p-2", namespace="shop",
            name="db-1", claims=["data-db-0"],
        )  # fmt: skip

    assert not planned_changes(advise(fleet)).changes


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((403, {"message": "cannot patch"}), "does not let the token change claim data-db-0"),
        ((422, {"message": "Forbidden: no"}), "answers 422 for data-db-0: Forbidden: no"),
    ],
)
def test_change_that_is_refused_when_it_is_tried_is_not_made(
    fleet: Cluster, api: SmallCluster, answer: Any, text: str
) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    api.refuses[f"{CLAIM}/data-db-0"] = [answer]

    change = work(source)

    assert (change.state, change.changed_at) == ("failed", None)
    assert text in change.said
    assert api.changes == []
    with pytest.raises(DecisionRefused, match="was not changed"):
        undo_change(change, actor=ADMIN, now=NOW)


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        ([], "there is no such claim any more"),
        (
            [{"metadata": {"uid": "c-9", "namespace": "shop", "name": "data-db-0"}}],
            "no such claim",
        ),
    ],
    ids=["gone", "another of its name"],
)
def test_claim_that_is_gone_is_told(
    fleet: Cluster, api: SmallCluster, listed: list[Any], text: str
) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    api.lists[CLAIM] = listed

    assert text in work(source).said
    assert api.changes == []


@pytest.mark.parametrize(
    ("now", "minutes", "becomes"),
    [
        (said("bronze", "silver"), 1, ("checking", "its driver has not begun")),
        (
            said("bronze", "silver", modifyVolumeStatus={"status": "Infeasible"}),
            1, ("failed", "its driver cannot give the volume this class"),
        ),
        (said("gold", "silver"), 1, ("failed", "it asks for the class gold")),
        (said("bronze", "silver"), 361, ("failed", "its driver did not do it within six hours")),
    ],
    ids=["not begun", "infeasible", "somebody else", "too long"],
)  # fmt: skip
def test_what_becomes_of_a_change_is_told(
    fleet: Cluster, api: SmallCluster, now: Any, minutes: int, becomes: tuple[str, str]
) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    work(source)
    api.lists[CLAIM] = [now]

    change = work(source, at=NOW + minutes * MINUTE)

    assert (change.state, change.said) == becomes


def test_undo_brings_the_former_class_back_once(fleet: Cluster, api: SmallCluster) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    work(source)
    api.lists[CLAIM] = [said("bronze")]
    change = work(source, at=NOW + MINUTE)
    assert change.can_be_undone
    with pytest.raises(NotAllowed):
        undo_change(change, actor=Actor(name="bob", role=Role.OPERATOR), now=NOW + MINUTE)

    undo_change(change, actor=ADMIN, now=NOW + MINUTE)
    with pytest.raises(DecisionRefused, match="undone already"):
        undo_change(change, actor=ADMIN, now=NOW + MINUTE)
    undone = work(source, at=NOW + 2 * MINUTE)

    assert api.changes[-1] == ("data-db-0", {"volumeAttributesClassName": "silver"}, "")
    assert (undone.undoes, undone.former, undone.wanted) == (change, "bronze", "silver")
    change.refresh_from_db()
    assert not change.can_be_undone


def test_undo_leaves_what_somebody_else_asked_for_since(fleet: Cluster, api: SmallCluster) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    work(source)
    api.lists[CLAIM] = [said("bronze")]
    change = work(source, at=NOW + MINUTE)
    undo_change(change, actor=ADMIN, now=NOW + MINUTE)
    api.lists[CLAIM] = [said("gold")]

    assert "by now, not by us" in work(source, at=NOW + 2 * MINUTE).said


def test_cluster_that_is_away_is_asked_again_for_an_hour(fleet: Cluster) -> None:
    with small_cluster() as gone:
        pass
    source = claimed(fleet, gone)
    approved(fleet)

    change = work(source)
    assert change.state == "waiting"
    assert reading.due_sources(now=NOW + MINUTE).exists()
    change = work(source, at=NOW + 61 * MINUTE)

    assert change.state == "failed"
    assert change.changed_at is None


def test_nothing_is_changed_while_rollouts_are_stopped(fleet: Cluster, api: SmallCluster) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    stop_rollouts(organisation=fleet.organisation, actor=ADMIN, reason="no", now=NOW)

    assert work(source).state == "waiting"
    assert api.changes == []


def test_claim_whose_change_is_open_is_given_no_other(fleet: Cluster, api: SmallCluster) -> None:
    claimed(fleet, api)
    approved(fleet)

    plan = planned_changes(advise(fleet, 9000.0))

    assert not plan.changes
    assert "has not ended yet" in plan.left[0].why_not


def test_change_of_a_worker_that_died_is_looked_at(fleet: Cluster, api: SmallCluster) -> None:
    source = claimed(fleet, api)
    approved(fleet)
    ClassChange.objects.update(state="running", look_at=NOW)
    api.lists[CLAIM] = [said("bronze")]

    assert work(source, at=NOW + 9 * MINUTE).state == "running"
    work(source, at=NOW + 10 * MINUTE)

    assert work(source, at=NOW + 11 * MINUTE).state == "done"
