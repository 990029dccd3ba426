"""Claims and the changes of their class, through the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import AuditEntry, Scope
from advisor.models import ClassChange, ClusterClaim, ClusterPod, ReadSource, Workload
from tests.web.api.asking import Program, program_of
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.claimed import advised_limit, changed, claimed, cluster
from tests.web.fleet import Fleet
from tests.web.test_query_counts import count_queries


@pytest.fixture
def admin(fleet: Fleet) -> Program:
    return program_of(fleet.people.owner, fleet.organisation)


def names(program: Program, query: str = "") -> list[str]:
    return [one["name"] for one in program.read(f"claims?{query}")["items"]]


def pages(program: Program, path: str, limit: int) -> Iterator[list[dict[str, Any]]]:
    cursor = ""
    while True:
        page = program.read(f"{path}?limit={limit}{cursor}")
        yield page["items"]
        if page["next_cursor"] is None:
            return
        cursor = f"&cursor={page['next_cursor']}"


# --- Claims


def test_claim_is_told_with_its_pod_its_disk_and_its_classes(
    fleet: Fleet, viewing: Program
) -> None:
    source = claimed(
        fleet, size_bytes=2**30, driver="csi.example.net", asked_class="gold",
        current_class="silver", change="InProgress", labels={"keep": "long"},
    )  # fmt: skip
    claim, disk = ClusterClaim.objects.get(), fleet.resources["nfs-07"]

    (found,) = viewing.read("claims")["items"]

    assert found == {
        "id": claim.pk, "source_id": source.pk, "source": "main", "namespace": "shop",
        "name": "data-000", "labels": {"keep": "long"}, "size_bytes": 2**30,
        "storage_class": "fast", "attributes_class": "silver", "asked_attributes_class": "gold",
        "driver_says": "InProgress", "volume": "pvc-data-000", "driver": "csi.example.net",
        "resource_id": disk.pk, "resource": "nfs-07", "newest_change": None,
        "pods": [
            {
                "name": "db-0", "node": "node-1", "owner": "StatefulSet/db",
                "workload_id": Workload.objects.get(name="db-orders").pk, "workload": "db-orders",
            }
        ],
    }  # fmt: skip
    assert viewing.read(f"claims/{claim.pk}") == found


def test_what_is_not_known_of_a_claim_is_null(fleet: Fleet, viewing: Program) -> None:
    ClusterClaim.objects.create(
        organisation=fleet.organisation, source=cluster(fleet), uid="c", namespace="n", name="new"
    )

    (found,) = viewing.read("claims")["items"]

    known = {name for name, value in found.items() if value not in (None, [], {})}
    assert known == {"id", "source_id", "source", "namespace", "name"}


def test_every_pod_that_uses_a_claim_is_told(fleet: Fleet, viewing: Program) -> None:
    source = claimed(fleet)
    elsewhere = cluster(fleet, "other")
    for of, namespace, name in (
        (source, "shop", "db-1"), (source, "test", "db-2"), (elsewhere, "shop", "db-3"),
    ):  # fmt: skip
        ClusterPod.objects.create(
            organisation=fleet.organisation, source=of, uid=name, namespace=namespace, name=name,
            claims=["more", "data-000"],
        )  # fmt: skip

    (found,) = viewing.read("claims")["items"]

    assert [(one["name"], one["workload"]) for one in found["pods"]] == [
        ("db-0", "db-orders"), ("db-1", None),
    ]  # fmt: skip


@pytest.fixture
def several(fleet: Fleet) -> dict[str, Any]:
    """Claims in two clusters and namespaces, one of which a workload uses and lies on a disk."""
    source = claimed(fleet)
    for of, namespace, name in (
        (source, "test", "data-000"), (source, "shop", "free"), (cluster(fleet, "b"), "shop", "x"),
    ):  # fmt: skip
        ClusterClaim.objects.create(
            organisation=fleet.organisation, source=of, uid=f"{namespace}-{name}",
            namespace=namespace, name=name,
        )  # fmt: skip
    return {
        "workload": Workload.objects.get(name="db-orders").pk,
        "idle": Workload.objects.exclude(name="db-orders").first().pk,
        "resource": fleet.resources["nfs-07"].pk,
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["shop/data-000", "test/data-000", "shop/free", "shop/x"]),
        ("source=b", ["shop/x"]),
        ("source=nothing", []),
        ("namespace=test", ["test/data-000"]),
        ("name=data-000", ["shop/data-000", "test/data-000"]),
        ("name=data-000&namespace=shop", ["shop/data-000"]),
        ("workload_id={workload}", ["shop/data-000"]),
        ("workload_id={idle}", []),
        ("workload_id=4000000", []),
        ("resource_id={resource}", ["shop/data-000"]),
        ("resource_id=4000000", []),
        ("workload_id={workload}&namespace=test", []),
    ],
)
def test_filter_leaves_what_it_names(
    several: dict[str, Any], viewing: Program, query: str, expected: list[str]
) -> None:
    found = viewing.read(f"claims?{query.format(**several)}")["items"]

    assert [f"{one['namespace']}/{one['name']}" for one in found] == expected


@pytest.mark.parametrize(
    "address",
    [
        "claims?workload=db-orders",
        "claims?workload_id=db-orders",
        "claims?resource_id=0",
        "claims?source=",
        "claims?namespace=%00",
        f"claims?namespace={'n' * 64}",
        "claims?limit=201",
        "claims?cursor=-",
        "class-changes?state=stuck",
        "class-changes?claim_id=-1",
        "class-changes?namespace=shop",
    ],
)
def test_filter_that_is_not_known_or_wrong_is_refused(viewing: Program, address: str) -> None:
    assert problem(viewing("GET", address)) == (422, "invalid")


@pytest.mark.parametrize("limit", [1, 3, 6, 7, 200])
def test_pages_have_each_claim_once(fleet: Fleet, viewing: Program, limit: int) -> None:
    claimed(fleet, 7)

    found = list(pages(viewing, "claims", limit))

    assert [one["name"] for page in found for one in page] == [f"data-{n:03}" for n in range(7)]
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert len(found) == -(-7 // limit)


def test_claims_of_a_removed_source_are_gone(fleet: Fleet, viewing: Program) -> None:
    claimed(fleet)
    claim = ClusterClaim.objects.get()
    change = changed(fleet, claim)
    ReadSource.objects.update(removed_at=fleet.now)

    assert names(viewing) == []
    assert problem(viewing("GET", f"claims/{claim.pk}")) == (404, "not_found")
    # What was done stays to be seen for as long as the source can be put back.
    assert viewing.read(f"class-changes/{change.pk}")["claim_id"] is None


def test_others_see_neither_claims_nor_changes(fleet: Fleet, foreign: Program) -> None:
    claimed(fleet)
    claim = ClusterClaim.objects.get()
    change = changed(fleet, claim)
    workload = Workload.objects.get(name="db-orders")

    listed = [
        foreign.read(f"{address}")["items"]
        for address in (
            "claims", f"claims?workload_id={workload.pk}", "claims?source=main",
            f"claims?resource_id={claim.resource_id}", "class-changes",
            f"class-changes?claim_id={claim.pk}",
            f"class-changes?recommendation_id={change.recommendation_id}",
        )
    ]  # fmt: skip

    assert listed == [[]] * 7
    for method, address in (
        ("GET", f"claims/{claim.pk}"),
        ("GET", f"class-changes/{change.pk}"),
        ("POST", f"class-changes/{change.pk}/undo"),
    ):
        assert problem(foreign(method, address)) == (404, "not_found")
    assert ClassChange.objects.count() == 1


@pytest.mark.parametrize("path", ["claims", "class-changes"])
def test_more_rows_ask_no_more_queries(fleet: Fleet, viewing: Program, path: str) -> None:
    source = claimed(fleet, 2)
    for claim in ClusterClaim.objects.order_by("pk"):
        changed(fleet, claim)
    viewing.read(path)
    before = count_queries(lambda: viewing.read(path))

    for number in range(20):
        pod = ClusterPod.objects.create(
            organisation=fleet.organisation, source=source, uid=f"q-{number}", namespace="shop",
            name=f"q-{number}", claims=[f"q-{number}"],
            workload=Workload.objects.create(
                organisation=fleet.organisation, name=f"shop/q-{number}"
            ),
        )  # fmt: skip
        claim = ClusterClaim.objects.create(
            organisation=fleet.organisation, source=source, uid=pod.uid, namespace="shop",
            name=pod.name, resource=fleet.resources["nfs-07"],
        )  # fmt: skip
        changed(fleet, claim)

    assert count_queries(lambda: viewing.read(path)) == before
    assert len(viewing.read(path)["items"]) == 22


# --- Changes of their class


def test_change_says_who_asked_for_it_and_why_it_failed(fleet: Fleet, viewing: Program) -> None:
    source = claimed(fleet)
    claim = ClusterClaim.objects.get()
    changed(fleet, claim, state="done")
    change = changed(
        fleet, claim, state="failed", said="its driver cannot give the volume this class"
    )

    found = viewing.read(f"class-changes/{change.pk}")

    at = found["asked_at"]
    assert found == {
        "id": change.pk, "recommendation_id": change.recommendation_id, "claim_id": claim.pk,
        "source_id": source.pk, "source": "main", "namespace": "shop", "name": "data-000",
        "workload": "db-orders", "former_class": "silver", "wanted_class": "gold",
        "limit": 200.0, "unit": change.recommendation.resource.unit, "state": "failed",
        "said": "its driver cannot give the volume this class",
        "asked_at": at, "asked_by": "owner", "changed_at": at, "ended_at": at,
        "undoes_id": None, "undone_by_id": None, "can_be_undone": True,
    }  # fmt: skip
    # Of several changes of a claim it names the newest.
    (told,) = viewing.read("claims")["items"]
    assert told["newest_change"] == found


def test_changes_are_listed_newest_first_and_by_what_is_asked(
    fleet: Fleet, viewing: Program
) -> None:
    claimed(fleet, 2)
    one, other = ClusterClaim.objects.order_by("name")
    first, second = changed(fleet, one), changed(fleet, one, state="failed")
    third = changed(fleet, other, state="checking", recommendation=advised_limit_elsewhere(fleet))

    def listed(query: str) -> list[int]:
        return [row["id"] for row in viewing.read(f"class-changes?{query}")["items"]]

    assert listed("") == [third.pk, second.pk, first.pk]
    assert listed(f"claim_id={one.pk}") == [second.pk, first.pk]
    assert listed(f"recommendation_id={third.recommendation_id}") == [third.pk]
    assert listed("state=failed") == [second.pk]
    assert listed("state=waiting") == listed("claim_id=4000000") == []
    assert [row["id"] for page in pages(viewing, "class-changes", 2) for row in page] == [
        third.pk, second.pk, first.pk,
    ]  # fmt: skip


def advised_limit_elsewhere(fleet: Fleet) -> Any:
    ReadSource.objects.update(name="renamed")
    return advised_limit(fleet)


def test_approval_of_an_admin_changes_what_it_was_said_to(fleet: Fleet, admin: Program) -> None:
    advice = advised_limit(fleet)
    claim = ClusterClaim.objects.get()

    planned = admin.read(f"recommendations/{advice.pk}")["planned_classes"]
    done(admin("POST", f"recommendations/{advice.pk}/approve"))

    assert planned == [
        {
            "claim_id": claim.pk, "source": "main", "namespace": "shop", "name": "data",
            "workload": advice.subject, "limit": 200.0, "former_class": "silver",
            "wanted_class": "gold", "why_not": "",
        }
    ]  # fmt: skip
    (change,) = admin.read(f"class-changes?recommendation_id={advice.pk}")["items"]
    assert (change["claim_id"], change["wanted_class"], change["state"], change["asked_by"]) == (
        claim.pk, "gold", "waiting", "owner",
    )  # fmt: skip
    assert admin.read(f"recommendations/{advice.pk}")["planned_classes"] == []


def test_claim_that_would_keep_its_class_is_told_with_the_reason(
    fleet: Fleet, admin: Program
) -> None:
    advice = advised_limit(fleet)
    ClusterClaim.objects.update(asked_class="gold")

    (planned,) = admin.read(f"recommendations/{advice.pk}")["planned_classes"]

    assert (planned["wanted_class"], planned["why_not"]) == (
        None, "it has the class gold already",
    )  # fmt: skip


def test_approval_of_an_operator_changes_no_class(fleet: Fleet, program: Program) -> None:
    advice = advised_limit(fleet)

    planned = program.read(f"recommendations/{advice.pk}")["planned_classes"]
    done(program("POST", f"recommendations/{advice.pk}/approve"))

    assert planned == []
    assert program.read("class-changes")["items"] == []


def test_change_is_undone_once_as_it_was_read(fleet: Fleet, admin: Program) -> None:
    claimed(fleet)
    change = changed(fleet, ClusterClaim.objects.get(), state="checking", ended_at=None)
    path = f"class-changes/{change.pk}"
    stale = admin("GET", path)["ETag"]
    assert problem(admin("POST", f"{path}/undo")) == (409, "refused")
    ClassChange.objects.update(state="done", ended_at=fleet.now)
    tag = admin("GET", path)["ETag"]

    refused = admin("POST", f"{path}/undo", if_match=stale)
    made = done(admin("POST", f"{path}/undo", if_match=tag, Idempotency_Key="undo"))
    again = done(admin("POST", f"{path}/undo", if_match=tag, Idempotency_Key="undo"))

    assert problem(refused) == (412, "changed_meanwhile")
    assert (made["undoes_id"], made["former_class"], made["wanted_class"], made["state"]) == (
        change.pk, "gold", "silver", "waiting",
    )  # fmt: skip
    assert again == made
    assert problem(admin("POST", f"{path}/undo")) == (409, "refused")
    undone = admin.read(path)
    assert (undone["undone_by_id"], undone["can_be_undone"]) == (made["id"], False)
    assert AuditEntry.objects.get().action == "undo a change of class"


def test_undo_takes_an_admin_and_a_token_that_writes(
    fleet: Fleet, program: Program, viewing: Program
) -> None:
    claimed(fleet)
    change = changed(fleet, ClusterClaim.objects.get())
    reading = program_of(fleet.people.owner, fleet.organisation, Scope.READ)

    for one in (program, viewing, reading):
        assert one("POST", f"class-changes/{change.pk}/undo").status_code == 403
    assert ClassChange.objects.count() == 1
