"""Which views of collectors are one workload, and what it is called."""

from __future__ import annotations

import pytest

from ingest.core.identity.cgroup_path import CgroupKind, read_cgroup, workload_cgroups
from tests.ingest.core.identity.scenario import host, workload, workloads

UUID = "b1f0a3c2-7e64-4d0b-9d6e-0f1a2b3c4d5e"
DOCKER = "3f" * 32
BEST_EFFORT_POD = (
    "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + UUID.replace("-", "_")
)


@pytest.mark.parametrize(
    ("path", "kind", "key"),
    [
        ("/qemu.slice/101.scope", CgroupKind.PROXMOX, "qemu/101"),
        ("/sys/fs/cgroup/qemu.slice/101.scope", CgroupKind.PROXMOX, "qemu/101"),
        ("/lxc/105", CgroupKind.LXC, "lxc/105"),
        ("/lxc/105/ns/init.scope", CgroupKind.LXC, "lxc/105"),
        ("/machine.slice/machine-qemu\\x2d1\\x2ddb1.scope", CgroupKind.DOMAIN, "db1"),
        ("/machine.slice/machine-qemu\\x2d12\\x2dw\\x2d2.scope/vcpu0", CgroupKind.DOMAIN, "w-2"),
        (f"/system.slice/docker-{DOCKER}.scope", CgroupKind.CONTAINER, DOCKER),
        (f"/docker/{DOCKER}", CgroupKind.CONTAINER, DOCKER),
        (f"/machine.slice/libpod-{DOCKER}.scope/container", CgroupKind.CONTAINER, DOCKER),
        (f"{BEST_EFFORT_POD}.slice/crio-{DOCKER}.scope", CgroupKind.POD, UUID),
        (f"/kubepods/burstable/pod{UUID}/{DOCKER}", CgroupKind.POD, UUID),
        ("/system.slice/nginx.service", CgroupKind.UNIT, "nginx.service"),
        ("/system.slice/nginx.service/worker", CgroupKind.UNIT, "nginx.service"),
        ("/user.slice/user-1000.slice/session-3.scope", CgroupKind.UNIT, "user-1000.slice"),
        ("/tenants/gold", CgroupKind.OTHER, "gold"),
    ],
)  # fmt: skip
def test_cgroup_path_names_its_workload(path: str, kind: CgroupKind, key: str) -> None:
    found = read_cgroup(path)

    assert found is not None
    assert (found.kind, found.key) == (kind, key)


@pytest.mark.parametrize(
    "path",
    ["/", "/system.slice", "/kubepods.slice/kubepods-burstable.slice", "/init.scope",
     f"/machine.slice/libpod-conmon-{DOCKER}.scope", "/system.slice/-.mount"],
)  # fmt: skip
def test_cgroup_that_only_holds_others_is_no_workload(path: str) -> None:
    assert read_cgroup(path) is None


def test_cgroups_below_a_workload_are_not_counted_again() -> None:
    scope = "/machine.slice/machine-qemu\\x2d1\\x2ddb1.scope"
    pod = f"/kubepods/pod{UUID}"
    paths = [scope, f"{scope}/libvirt", f"{scope}/libvirt/emulator", f"{pod}/a", f"{pod}/b"]

    found = {cgroup.key: measured for cgroup, measured in workload_cgroups(paths)}

    assert found == {"db1": (scope,), UUID: (f"{pod}/a", f"{pod}/b")}


def test_unknown_cgroup_above_others_only_holds_them() -> None:
    found = workload_cgroups(["/tenants", "/tenants/gold", "/tenants/lead"])

    assert [cgroup.key for cgroup, _ in found] == ["gold", "lead"]


def test_vm_of_metric_server_reader_and_cgroup_is_one_with_its_name() -> None:
    found = workloads(
        workload("pve1", "qemu/101", name="db1"),
        workload("pve1", "vm/x", name="x"),
        cgroups=[("pve1", "/sys/fs/cgroup/qemu.slice/101.scope")],
    )

    names = {one.name: [str(place) for place in one.places] for one in found}
    assert names["db1"] == ["pve1:/sys/fs/cgroup/qemu.slice/101.scope", "pve1:qemu/101"]


def test_domain_of_libvirt_and_its_scope_are_one() -> None:
    scope = "/machine.slice/machine-qemu\\x2d3\\x2dweb1.scope"
    found = workloads(
        workload("kvm-01", "libvirt/web_1", name="web_1", uuid=UUID), cgroups=[("kvm-01", scope)]
    )

    assert [(one.name, one.cgroups) for one in found] == [("web_1", (("kvm-01", scope),))]


def test_scope_that_fits_two_domains_is_given_to_neither() -> None:
    scope = "/machine.slice/machine-qemu\\x2d3\\x2dweb1.scope"
    found = workloads(
        workload("kvm-01", "libvirt/web_1", name="web_1"),
        workload("kvm-01", "libvirt/web1", name="web1"),
        cgroups=[("kvm-01", scope)],
    )

    assert len(found) == 3
    assert "fits several domains" in found[0].reasons[0].text


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ({"name": "db1", "uuid": UUID}, {"name": "db1", "uuid": UUID.upper()}, 1),
        ({"name": "db1", "uuid": UUID}, {"name": "db1-copy", "uuid": UUID}, 2),
        ({"name": "db1"}, {"name": "db1"}, 2),
    ],
    ids=["same UUID", "copied with its UUID", "no UUID"],
)
def test_domain_on_two_hosts_is_one_by_its_uuid(
    first: dict[str, str], second: dict[str, str], number: int
) -> None:
    found = workloads(
        workload("kvm-01", "libvirt/db1", **first), workload("kvm-02", "libvirt/db1", **second)
    )

    assert len(found) == number


@pytest.mark.parametrize(
    ("clusters", "names", "number"),
    [
        (("prod", "prod"), ("db1", "db1"), 1),
        (("prod", "prod"), ("db1", "web9"), 2),
        (("prod", "test"), ("db1", "db1"), 2),
        ((), ("db1", "db1"), 2),
    ],
    ids=["moving", "two clusters of one name", "two clusters", "no cluster known"],
)
def test_guest_of_two_nodes_is_one_within_a_cluster(
    clusters: tuple[str, ...], names: tuple[str, str], number: int
) -> None:
    nodes = ("pve1", "pve2")
    said = [host(node, cluster=name) for node, name in zip(nodes, clusters, strict=False)]
    guests = [workload(n, "qemu/101", name=name) for n, name in zip(nodes, names, strict=True)]

    assert len(workloads(*said, *guests)) == number


def test_same_unit_on_two_hosts_is_two_workloads_with_their_hosts_in_the_name() -> None:
    found = workloads(
        workload("a", "unit/nginx.service", name="nginx", cgroup="/system.slice/nginx.service"),
        cgroups=[(name, "/system.slice/nginx.service") for name in ("a", "b")],
    )

    assert sorted(one.name for one in found) == ["a/nginx.service", "b/nginx.service"]


def test_container_has_the_name_that_its_manager_states() -> None:
    path = f"/system.slice/docker-{DOCKER}.scope"
    key = f"docker/{DOCKER[:12]}"
    (found,) = workloads(workload("a", key, name="shop", cgroup=path), cgroups=[("a", path)])

    assert (found.name, found.kind) == ("shop", "container")


def test_container_of_a_pod_is_part_of_the_pod() -> None:
    pod = f"/kubepods.slice/kubepods-pod{UUID.replace('-', '_')}.slice"
    inner = f"{pod}/cri-containerd-{DOCKER}.scope"
    (found,) = workloads(
        workload("a", f"pod/{UUID}", name="orders", namespace="shop", cgroup=pod),
        workload("a", f"container/{DOCKER[:12]}", cgroup=inner),
        cgroups=[("a", pod), ("a", inner)],
    )

    assert (found.name, found.kind, found.cgroups) == ("shop/orders", "pod", (("a", pod),))
