"""Objects of Kubernetes' API: what is taken, and that nothing of another shape does harm."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.kubernetes.cluster import (
    LONGEST_NAME,
    LONGEST_NAMESPACE,
    LONGEST_UID,
    Owner,
    Pod,
)
from ingest.core.kubernetes.read_objects import (
    MOST_LABELS,
    read_claim,
    read_class,
    read_owner,
    read_pod,
    read_volume,
    with_labels_of_owners,
)

WEB = "Deployment/web"
KEYS = st.sampled_from(
    [
        "metadata", "spec", "status", "uid", "namespace", "name", "labels", "annotations",
        "ownerReferences", "volumes", "persistentVolumeClaim", "claimName", "ephemeral", "csi",
        "driver", "driverName", "parameters", "kind", "controller", "modifyVolumeStatus",
        "capacity", "storage",
    ]
) | st.text(max_size=4)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


@given(said=JSON)
def test_whatever_is_answered_is_an_object_that_can_be_stored_or_none(said: Any) -> None:
    found = read_pod(said)

    for read in (read_claim, read_volume, read_class):
        read(said)
    read_owner(said, "Deployment")
    if found is not None:
        assert 0 < len(found.uid) <= LONGEST_UID
        assert 0 < len(found.namespace) <= LONGEST_NAMESPACE
        assert 0 < len(found.name) <= LONGEST_NAME
        texts = [found.uid, found.namespace, found.name, found.node, found.owner, *found.claims]
        assert all(text.isprintable() for text in [*texts, *found.labels, *found.labels.values()])


def said_pod(**about: Any) -> dict[str, Any]:
    named = {"uid": "A-1", "namespace": "shop", "name": "db-0", **about}
    return {"metadata": named, "spec": {"nodeName": "node-1"}}


def pod_of(said: Any) -> Pod:
    found = read_pod(said)
    assert found is not None
    return found


def test_pod_without_labels_owner_and_volumes_has_none() -> None:
    found = pod_of(said_pod())

    assert found == Pod(uid="a-1", namespace="shop", name="db-0", node="node-1")


@pytest.mark.parametrize(
    "about",
    [
        {"uid": ""}, {"uid": 7}, {"uid": "x" * 65}, {"name": None}, {"namespace": ["shop"]},
        {"name": "a\x00b"}, {"name": "x" * 254}, {"namespace": "n" * 64},
    ],
)  # fmt: skip
def test_object_of_another_shape_is_none(about: dict[str, Any]) -> None:
    assert read_pod(said_pod(**about)) is None


def test_pod_of_a_nodes_own_file_has_the_uid_by_which_the_node_knows_it() -> None:
    hashed = "0123456789abcdef0123456789abcdef"

    found = pod_of(said_pod(annotations={"kubernetes.io/config.mirror": hashed}))

    assert found.uid == hashed


def test_labels_that_tell_versions_apart_and_empty_ones_are_left_out() -> None:
    labels = {
        "app": "db", "pod-template-hash": "5d8f", "controller-revision-hash": "db-77", "flag": "",
        "statefulset.kubernetes.io/pod-name": "db-0", "wrong": 7, "long": "x" * 64,
    }  # fmt: skip

    assert pod_of(said_pod(labels=labels)).labels == {"app": "db"}


def test_of_very_many_labels_the_first_by_name_are_kept() -> None:
    labels = {f"l{number:03}": "x" for number in range(MOST_LABELS + 50)}

    assert list(pod_of(said_pod(labels=labels)).labels) == sorted(labels)[:MOST_LABELS]


@pytest.mark.parametrize(
    ("references", "labels", "owner"),
    [
        ([{"kind": "StatefulSet", "name": "db", "controller": True}], {}, "StatefulSet/db"),
        (
            [{"kind": "ReplicaSet", "name": "web-5d8f", "controller": True}],
            {"pod-template-hash": "5d8f"},
            "Deployment/web",
        ),
        ([{"kind": "ReplicaSet", "name": "web", "controller": True}], {}, "ReplicaSet/web"),
        ([{"kind": "Node", "name": "node-1"}], {}, ""),
        ("none", {}, ""),
        ([None, {"kind": 3, "name": "x", "controller": True}], {}, ""),
    ],
)  # fmt: skip
def test_owner_is_what_keeps_the_pod(references: Any, labels: Any, owner: str) -> None:
    assert pod_of(said_pod(ownerReferences=references, labels=labels)).owner == owner


def test_labels_of_the_owner_stand_beside_those_of_the_pod_which_win() -> None:
    pods = [
        Pod(uid="1", namespace="shop", name="a", node="", owner=WEB, labels={"x": "1"}),
        Pod(uid="2", namespace="bank", name="b", node="", owner=WEB),
    ]
    owner = Owner(namespace="shop", key=WEB, labels={"x": "2", "team": "red"})

    first, other = with_labels_of_owners(pods, [owner])

    assert first.labels == {"x": "1", "team": "red"}
    assert other.labels == {}


def test_claims_of_a_pod_are_named_once_and_those_of_ephemeral_volumes_too() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "again", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "config", "configMap": {"name": "c"}},
        "wrong",
    ]
    said = said_pod()
    said["spec"]["volumes"] = volumes

    assert pod_of(said).claims == ("data-db-0", "db-0-scratch")


def test_claim_has_its_volume_and_what_becomes_of_its_class() -> None:
    found = read_claim(
        {
            "metadata": {"uid": "c-1", "namespace": "shop", "name": "data-db-0"},
            "spec": {
                "volumeName": "pvc-1",
                "storageClassName": "fast",
                "volumeAttributesClassName": "gold",
            },
            "status": {
                "currentVolumeAttributesClassName": "silver",
                "modifyVolumeStatus": {"status": "InProgress"},
                "capacity": {"storage": "10Gi"},
            },
        }
    )

    assert found is not None
    assert (found.volume, found.storage_class) == ("pvc-1", "fast")
    assert found.size_bytes == 10 * 2**30
    assert (found.asked_class, found.current_class, found.change) == (
        "gold", "silver", "InProgress",
    )  # fmt: skip


def test_claim_without_a_volume_has_no_size() -> None:
    found = read_claim(
        {
            "metadata": {"uid": "c-1", "namespace": "shop", "name": "data-db-0"},
            "spec": {"resources": {"requests": {"storage": "10Gi"}}},
            "status": {"phase": "Pending"},
        }
    )

    assert found is not None
    assert found.size_bytes is None


def test_class_of_volumes_has_its_drivers_parameters() -> None:
    said = {
        "metadata": {"name": "gold"}, "driverName": "csi.example.net",
        "parameters": {"iops": "4000", "wrong": 7},
    }  # fmt: skip

    found = read_class(said)

    assert found is not None
    assert (found.driver, found.parameters) == ("csi.example.net", {"iops": "4000"})
    assert read_class({"metadata": {"name": "gold"}}) is None
