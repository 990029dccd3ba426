"""vCenters that are read, through the API."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Scope
from advisor.models import ReadSource
from tests.web.api.asking import Program, program_of
from tests.web.fleet import Fleet

BODY: dict[str, Any] = {
    "name": "main",
    "address": "https://vc.example.org",
    "user": "reader@vsphere.local",
    "password": "opensesame",
}


@pytest.fixture
def admin(fleet: Fleet) -> Program:
    return program_of(fleet.people.owner, fleet.organisation)


@pytest.fixture
def operator(fleet: Fleet) -> Program:
    return program_of(fleet.people.operator, fleet.organisation)


def test_source_is_stated_read_changed_and_removed_and_never_tells_its_password(
    admin: Program,
) -> None:
    made = admin("PUT", "sources", BODY)
    assert made.status_code == 200, made.content
    path = f"sources/{made.json()['id']}"

    tag = admin("GET", path).headers["ETag"]
    body = {**BODY, "every_min": 15, "takes_over": True}
    del body["password"]
    changed = admin("PUT", "sources", body, if_match=tag)
    stale = admin("PUT", "sources", body, if_match=tag)
    listed = admin.read("sources")["items"]

    assert (changed.status_code, stale.status_code) == (200, 412)
    assert [(one["name"], one["every_min"], one["takes_over"]) for one in listed] == [
        ("main", 15, True)
    ]
    assert listed[0].keys() & {"password"} == set()
    assert b"opensesame" not in made.content + changed.content
    assert ReadSource.objects.get().password == "opensesame"
    assert admin("DELETE", path).status_code == 204
    assert admin.read("sources")["items"] == []
    assert admin("GET", path).status_code == 404


def test_source_is_paused_resumed_and_tested(admin: Program) -> None:
    path = f"sources/{admin('PUT', 'sources', BODY).json()['id']}"

    paused = admin("POST", f"{path}/pause")
    again = admin("POST", f"{path}/pause")
    resumed = admin("POST", f"{path}/resume")
    tested = admin("POST", f"{path}/test")

    assert paused.json()["paused_at"] is not None
    assert paused.json()["next_at"] is None
    assert again.status_code == 409
    assert resumed.json()["paused_at"] is None
    assert (tested.json()["test_worked"], tested.json()["tested_at"]) == (None, None)
    assert ReadSource.objects.get().is_tried


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": "http://vc.example.org"}, {"address": "https://127.0.0.1"},
        {"every_min": 4}, {"password": ""}, {"fingerprint": "x"}, {"name": ""},
    ],
)  # fmt: skip
def test_source_that_could_not_be_read_is_refused(admin: Program, wrong: dict[str, Any]) -> None:
    answer = admin("PUT", "sources", BODY | wrong)

    assert answer.status_code in (409, 422), answer.content
    assert not ReadSource.objects.exists()


def test_who_is_no_admin_may_not_even_read(
    admin: Program, operator: Program, fleet: Fleet
) -> None:
    pk = admin("PUT", "sources", BODY).json()["id"]
    reader = program_of(fleet.people.owner, fleet.organisation, Scope.READ)

    for method, path in (("GET", "sources"), ("GET", f"sources/{pk}"), ("PUT", "sources")):
        assert operator(method, path, BODY if method == "PUT" else None).status_code == 403
    for word in ("test", "pause", "resume"):
        assert operator("POST", f"sources/{pk}/{word}").status_code == 403
    assert operator("DELETE", f"sources/{pk}").status_code == 403
    assert reader("GET", "sources").status_code == 200
    assert reader("DELETE", f"sources/{pk}").status_code == 403


CLUSTER: dict[str, Any] = {
    "name": "k8s",
    "address": "https://k.example.org:6443",
    "token": "of-a-reader",
    "tier_label": "example.org/tier",
}


def test_cluster_is_stated_beside_vcenters_and_never_tells_its_token(admin: Program) -> None:
    made = admin("PUT", "sources/kubernetes", CLUSTER)
    assert made.status_code == 200, made.content
    admin("PUT", "sources", BODY)

    body = {name: CLUSTER[name] for name in ("name", "address")}
    tag = admin("GET", f"sources/{made.json()['id']}").headers["ETag"]
    changed = admin("PUT", "sources/kubernetes", {**body, "takes_over": True}, if_match=tag)
    listed = {one["name"]: one for one in admin.read("sources")["items"]}

    assert changed.status_code == 200, changed.content
    assert b"of-a-reader" not in made.content + changed.content
    assert {name: one["kind"] for name, one in listed.items()} == {
        "k8s": "kubernetes", "main": "vcenter",
    }  # fmt: skip
    # What is left out is as for a new one.
    assert listed["k8s"]["tier_label"] == "sluice.io/tier"
    assert ReadSource.objects.get(name="k8s").password == "of-a-reader"


@pytest.mark.parametrize(
    "wrong", [{"token": ""}, {"token": "two words"}, {"tier_label": "a b"}, {"user": "ann"}]
)
def test_cluster_that_could_not_be_read_is_refused(admin: Program, wrong: dict[str, Any]) -> None:
    answer = admin("PUT", "sources/kubernetes", CLUSTER | wrong)

    assert answer.status_code in (409, 422), answer.content
    assert not ReadSource.objects.exists()
