"""Allocations that name a workload: its control group is looked for in each pass."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import Allocation, Outcome, Selector
from enforcers.enforcement import PassResult
from enforcers.mechanism import SeesUnclaimed
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.results import Enforced
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, group
from tests.enforcers.rig import Rig, start_rig

ID, OTHER_ID = "a" * 64, "b" * 64
POD = "0a1b2c3d-0000-1111-2222-333344445555"
LIMITED = "8:0 rbps=max wbps=max riops=500 wiops=500\n"
SUBTREES = ("/system.slice", "/machine.slice", "/qemu.slice", "/kubepods.slice", "/lxc", "/docker")
PODMAN = "/var/lib/containers/storage/overlay-containers/containers.json"


@pytest.fixture
def cgroups(tmp_path: Path) -> FakeCgroups:
    return FakeCgroups(tmp_path / "root")


@pytest.fixture
def rig(tmp_path: Path, cgroups: FakeCgroups) -> Rig:
    config = CgroupIoConfig(subtrees=frozenset(SUBTREES), devices=frozenset({"8:0"}))
    return start_rig(tmp_path, FakeTc(), host_fs=cgroups, configs={"cgroup_io": config})


def named(kind: str, value: str, **change: Any) -> Allocation:
    values = {"id": value, "limit": 500.0, "selector": Selector(kind=kind, value=value)}
    return group("/x", **{**values, **change})


def enforce(rig: Rig, *allocations: Allocation, now_s: float = 0.0) -> PassResult:
    wanted = document(*allocations) if allocations else None
    return rig.enforcement.run(wanted, previous=None, now_s=now_s)


def only(rig: Rig, *allocations: Allocation, now_s: float = 0.0) -> Enforced:
    (found,) = enforce(rig, *allocations, now_s=now_s).enforced
    return found


def docker(name: str, **labels: str) -> str:
    return json.dumps({"Name": f"/{name}", "Config": {"Labels": labels}})


def process(pid: int, comm: str, *argv: str, cgroup: str = "/") -> dict[str, str]:
    own = f"/proc/{pid}"
    return {
        f"{own}/comm": f"{comm}\n",
        f"{own}/cmdline": "\0".join(argv) + "\0",
        f"{own}/cgroup": f"0::{cgroup}\n",
    }


WEB = r"/machine.slice/machine-qemu\x2d1\x2dweb.scope"


@pytest.mark.parametrize(
    ("kind", "value", "place", "files"),
    [
        ("systemd_unit", "db.service", "/system.slice/db.service", {}),
        ("systemd_unit", "db@1.service", "/system.slice/system-db.slice/db@1.service", {}),
        ("systemd_unit", "system-db.slice", "/system.slice/system-db.slice", {}),
        ("libvirt_domain", "web", WEB, {}),
        (
            "libvirt_domain",
            "we-b",
            r"/machine.slice/machine-qemu\x2d12\x2dwe\x2db.scope",
            {},
        ),
        (
            # libvirt leaves letters like spaces out of the group's name.
            "libvirt_domain",
            "w e b",
            WEB,
            process(
                41, "qemu-system-x86", "qemu", "-name", "guest=w e b,debug-threads=on",
                cgroup=f"{WEB}/libvirt/emulator",
            ),
        ),
        ("proxmox_vmid", "101", "/qemu.slice/101.scope", {}),
        ("proxmox_vmid", "105", "/lxc/105", {}),
        (
            "container_name",
            "ct1",
            "/lxc/105",
            {"/var/lib/lxc/105/config": "lxc.uts.name = ct1\n"},
        ),
        (
            "container_name",
            "db",
            f"/system.slice/docker-{ID}.scope",
            {f"/var/lib/docker/containers/{ID}/config.v2.json": docker("db")},
        ),
        (
            "container_label",
            "com.example.tier=db",
            f"/docker/{ID}",
            {
                f"/var/lib/docker/containers/{ID}/config.v2.json": docker(
                    "x", **{"com.example.tier": "db"}
                )
            },
        ),
        (
            "container_name",
            "db",
            f"/machine.slice/libpod-{ID}.scope",
            {PODMAN: json.dumps([{"id": ID, "names": ["db"]}])},
        ),
        (
            "container_name",
            "db",
            f"/machine.slice/libpod-{ID}.scope",
            process(50, "conmon", "/usr/bin/conmon", "--api", "-c", ID, "-u", ID, "-n", "db"),
        ),
        (
            "kubernetes_pod",
            "shop/db-0",
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice",  # noqa: E501
            {f"/var/log/pods/shop_db-0_{POD}/x": ""},
        ),
    ],
    ids=["unit", "template", "slice", "libvirt", "dash", "spaces", "proxmox", "proxmox container",
         "lxc", "docker", "label", "podman", "conmon", "pod"],
)  # fmt: skip
def test_workload_is_found_by_its_name(
    request: pytest.FixtureRequest, kind: str, value: str, place: str, files: dict[str, str]
) -> None:
    cgroups: FakeCgroups = request.getfixturevalue("cgroups")
    rig: Rig = request.getfixturevalue("rig")
    cgroups.add_group(place)
    cgroups.add_group("/system.slice/other.service")
    for path, text in files.items():
        cgroups.put(path, text)

    found = only(rig, named(kind, value))

    assert found.outcome is Outcome.APPLIED, found.reason
    assert cgroups.text(place, "io.max") == LIMITED
    assert cgroups.text("/system.slice/other.service", "io.max") == ""
    assert found.seen.setting is not None
    assert found.seen.setting.native is not None
    assert found.seen.setting.native.endswith(f"in {place}")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("systemd_unit", "gone.service"),
        ("systemd_unit", "../user.slice/x.service"),
        ("systemd_unit", "x.service"),
        ("libvirt_domain", "w*"),
        ("libvirt_domain", "db.service"),
        ("container_name", ID),
        ("container_label", "tier"),
        ("kubernetes_pod", "shop/"),
    ],
    ids=["gone", "dots", "outside", "pattern", "other kind", "id", "half a label", "half a pod"],
)
def test_workload_that_is_not_there_is_named_and_nothing_is_touched(
    cgroups: FakeCgroups, rig: Rig, kind: str, value: str
) -> None:
    for place in (WEB, "/system.slice/db.service", f"/docker/{ID}", "/user.slice/x.service"):
        cgroups.add_group(place)

    found = only(rig, named(kind, value))

    assert found.outcome is Outcome.FAILED
    assert (
        f"no control group of {kind} {value!r} is at or below cgroup_io.subtrees" in found.reason
    )
    assert cgroups.writes == []


def test_name_of_several_workloads_is_refused_with_all_of_them(
    cgroups: FakeCgroups, rig: Rig
) -> None:
    for own in (ID, OTHER_ID):
        cgroups.add_group(f"/docker/{own}")
        path = f"/var/lib/docker/containers/{own}/config.v2.json"
        cgroups.put(path, docker(own[:3], tier="db"))

    found = only(rig, named("container_label", "tier=db"))

    assert found.outcome is Outcome.FAILED
    assert found.reason == (
        f"2 control groups are container_label 'tier=db': /docker/{ID}, /docker/{OTHER_ID}; "
        "name one of them alone"
    )
    assert cgroups.writes == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"Name": 7, "Config": 7}', '{"Config": {"Labels": null}}', "[" * 100_000],
    ids=["empty", "half", "list", "numbers", "no labels", "deep"],
)
def test_file_of_a_container_that_makes_no_sense_gives_it_no_name(
    cgroups: FakeCgroups, rig: Rig, text: str
) -> None:
    cgroups.add_group(f"/docker/{ID}")
    cgroups.put(f"/var/lib/docker/containers/{ID}/config.v2.json", text)

    result = enforce(rig, named("container_name", "db"), named("container_label", "a=b"))

    assert {found.outcome for found in result.enforced} == {Outcome.FAILED}
    assert cgroups.writes == []


def test_workload_that_starts_again_elsewhere_is_replaced(cgroups: FakeCgroups, rig: Rig) -> None:
    second = WEB.replace("2d1", "2d2", 1)
    cgroups.add_group(WEB)
    enforce(rig, named("libvirt_domain", "web"))
    cgroups.remove_group(WEB)
    cgroups.add_group(second, io_max="8:0 rbps=9 wbps=max riops=max wiops=max\n")

    found = only(rig, named("libvirt_domain", "web"))
    limited = cgroups.text(second, "io.max")
    enforce(rig)

    assert found.outcome is Outcome.REPLACED
    assert limited == "8:0 rbps=9 wbps=max riops=500 wiops=500\n"
    assert cgroups.text(second, "io.max") == "8:0 rbps=9 wbps=max riops=max wiops=max\n"
    assert rig.ledger.entries() == ()


def test_name_that_goes_to_another_workload_takes_its_limit_along(
    cgroups: FakeCgroups, rig: Rig
) -> None:
    first, second = f"/docker/{ID}", f"/docker/{OTHER_ID}"
    cgroups.add_group(first, io_max="8:0 rbps=max wbps=max riops=90 wiops=max\n")
    cgroups.add_group(second)
    files = [f"/var/lib/docker/containers/{own}/config.v2.json" for own in (ID, OTHER_ID)]
    for file, name in zip(files, ("db", "db-new"), strict=True):
        cgroups.put(file, docker(name))
    enforce(rig, named("container_name", "db"))
    for file, name in zip(files, ("db-old", "db"), strict=True):
        cgroups.put(file, docker(name))

    found = only(rig, named("container_name", "db"))

    assert found.outcome is Outcome.REPLACED
    assert cgroups.text(first, "io.max") == "8:0 rbps=max wbps=max riops=90 wiops=max\n"
    assert cgroups.text(second, "io.max") == LIMITED


def test_path_that_another_workload_takes_keeps_what_that_one_came_with(
    cgroups: FakeCgroups, rig: Rig
) -> None:
    place = "/qemu.slice/101.scope"
    cgroups.add_group(place)
    enforce(rig, named("proxmox_vmid", "101"))
    cgroups.remove_group(place)
    cgroups.add_group(place, io_max="8:0 rbps=7 wbps=max riops=max wiops=max\n")

    enforce(rig)

    assert cgroups.text(place, "io.max") == "8:0 rbps=7 wbps=max riops=max wiops=max\n"
    assert rig.ledger.entries() == ()


def test_group_that_vanishes_between_look_and_write_fails_and_is_served_when_it_is_back(
    cgroups: FakeCgroups, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "/system.slice/db.service"
    cgroups.add_group(place)
    write = cgroups.write

    def write_too_late(path: str, text: str) -> None:
        cgroups.remove_group(place)
        write(path, text)

    monkeypatch.setattr(cgroups, "write", write_too_late)
    first = only(rig, named("systemd_unit", "db.service"))
    monkeypatch.setattr(cgroups, "write", write)
    cgroups.add_group(place)
    second = only(rig, named("systemd_unit", "db.service"), now_s=60.0)

    assert first.outcome is Outcome.FAILED
    assert f"{place}/io.max: No such file or directory" in first.reason
    assert second.outcome is Outcome.APPLIED
    assert cgroups.text(place, "io.max") == LIMITED


def test_link_is_no_group_of_its_own(cgroups: FakeCgroups, rig: Rig) -> None:
    cgroups.add_group("/user.slice/x.service")
    (cgroups.root / f"{MOUNT}/system.slice".lstrip("/")).mkdir()
    for link, target in (("db.service", "../user.slice/x.service"), ("far", "../user.slice")):
        (cgroups.root / f"{MOUNT}/system.slice/{link}".lstrip("/")).symlink_to(target)
    by_path = [
        named("cgroup", "/system.slice/db.service"),
        named("cgroup", "/system.slice/far/x.service"),
    ]

    result = enforce(rig, named("systemd_unit", "db.service"), *by_path)

    assert {found.outcome for found in result.enforced} == {Outcome.FAILED}
    assert cgroups.writes == []


def test_group_that_one_allocation_names_and_another_places_belongs_to_the_first(
    cgroups: FakeCgroups, rig: Rig
) -> None:
    cgroups.add_group("/system.slice/db.service")
    by_path = named("cgroup", "/system.slice/db.service", limit=90.0)

    first, second = enforce(rig, named("systemd_unit", "db.service"), by_path).enforced

    assert first.outcome is Outcome.APPLIED
    assert second.outcome is Outcome.FAILED
    assert "belongs to another allocation already" in second.reason


def test_weights_of_workloads_by_name_follow_their_shares(cgroups: FakeCgroups, rig: Rig) -> None:
    cgroups.add_group("/system.slice/a.service")
    cgroups.add_group("/system.slice/b.service")

    enforce(
        rig,
        named("systemd_unit", "a.service", limit=None, shares=300),
        named("systemd_unit", "b.service", limit=None, shares=100),
    )

    assert "8:0 300" in cgroups.text("/system.slice/a.service", "io.weight")
    assert "8:0 100" in cgroups.text("/system.slice/b.service", "io.weight")


def test_workloads_that_nobody_claims_are_told_with_the_names_that_would(
    cgroups: FakeCgroups, rig: Rig
) -> None:
    for place in (WEB, "/qemu.slice/101.scope", f"/docker/{ID}", "/system.slice/db.service"):
        cgroups.add_group(place)
    cgroups.add_group("/system.slice/db.service/worker")
    cgroups.put(f"/var/lib/docker/containers/{ID}/config.v2.json", docker("db", a="b"))
    mechanism = rig.mechanisms["cgroup_io"]
    assert isinstance(mechanism, SeesUnclaimed)

    found = mechanism.unclaimed(
        (
            named("libvirt_domain", "web"),
            named("cgroup", "/system.slice/db.service"),
            replace(named("proxmox_vmid", "999"), id="another"),
        )
    )

    assert {one.place: one.names for one in found} == {
        "/qemu.slice/101.scope": ("proxmox_vmid=101", "systemd_unit=101.scope"),
        f"/docker/{ID}": ("container_label=a=b", "container_name=db"),
    }
