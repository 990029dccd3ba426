"""Which workload is which pod of a cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ingest.core.identity.pods import KnownPod, KnownPods, with_pods
from ingest.core.identity.workloads import FoundWorkload
from tests.ingest.core.identity.scenario import workload, workloads

UID = "b1f0a3c2-7e64-4d0b-9d6e-0f1a2b3c4d5e"
MIRROR = "0123456789abcdef0123456789abcdef"
BURSTABLE = "/kubepods.slice/kubepods-burstable.slice"
SYSTEMD = f"{BURSTABLE}/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
DB = KnownPod(
    number=1,
    uid=UID,
    namespace="shop",
    name="db-0",
    labels={"team": "red", "app": "db"},
)


def with_cgroup(path: str) -> FoundWorkload:
    (found,) = workloads(cgroups=[("node-1", path)])
    return found


def named(one: FoundWorkload, *pods: KnownPod) -> FoundWorkload:
    (found,) = with_pods([one], KnownPods(pods))
    return found


@pytest.mark.parametrize(
    ("path", "pod"),
    [
        (SYSTEMD, DB),
        (f"{SYSTEMD}/cri-containerd-{'3f' * 32}.scope", DB),
        (f"/kubepods/burstable/pod{UID}", DB),
        (f"/kubepods/burstable/pod{MIRROR}", replace(DB, uid=MIRROR)),
    ],
    ids=["systemd", "a container of it", "cgroupfs", "of a node's own file"],
)
def test_pod_is_known_by_the_uid_in_its_control_group(path: str, pod: KnownPod) -> None:
    found = named(with_cgroup(path), pod)

    assert (found.name, found.stated_name) == ("shop/db-0", "db-0")
    assert found.attributes == (
        ("label.app", "db"), ("label.team", "red"), ("namespace", "shop"),
    )  # fmt: skip


def test_name_and_labels_of_a_collector_stay() -> None:
    (one,) = workloads(
        workload(
            "node-1", f"pod/{UID}", name="db-0", namespace="shop", label__team="blue",
            cgroup=SYSTEMD,
        )
    )  # fmt: skip

    found = named(one, replace(DB, name="other"))

    assert found.name == "shop/db-0"
    assert ("label.team", "blue") in found.attributes
    assert ("label.team", "red") in found.attributes


def test_pod_of_another_uid_is_another_even_under_the_same_name() -> None:
    (one,) = workloads(workload("node-1", f"pod/{MIRROR}", name="db-0", namespace="shop"))

    assert named(one, DB) == one


def test_pod_of_no_uid_is_known_by_its_name_if_one_alone_has_it() -> None:
    said = workload("node-1", "orders", name="db-0", namespace="shop")
    (one,) = workloads([*said, replace(said[0], name="kind", value="pod")])

    found = named(one, DB)
    elsewhere = named(one, DB, replace(DB, uid=MIRROR))

    assert ("label.app", "db") in found.attributes
    assert elsewhere == one


def test_workload_that_is_no_pod_is_left_as_it_is() -> None:
    one = with_cgroup("/system.slice/nginx.service")

    assert named(one, DB) == one
