"""Whole passes: one time, facts when they are due, and trees that change while they are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from enforcers.reader.cgroup_names import Maker, Named, WorkloadKind
from enforcers.reader.containers import ContainerNames
from enforcers.reader.facts import REPEAT_S, fact_lines
from enforcers.reader.host_tree import HostTree
from enforcers.reader.processes import TURNS
from enforcers.reader.reading import Reader, Reading
from tests.enforcers.reader.trees import MOUNT, MOUNTINFO, Link, cgroup, only, plant

ID = "4e" * 32
UID = "8a5f2c1e-1b2c-4d3e-9f00-0123456789ab"


def disk(name: str, number: int) -> str:
    return f"   8 {number:7} {name} 10 1 16 5 20 2 24 7 3 40 12 0 0 0 0 0 0\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with two disks, one interface, a unit and a container."""
    files: dict[str, str | bytes | Link] = {
        "/proc/diskstats": disk("sda", 0) + disk("sdb", 16),
        "/proc/net/dev": "  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        "/proc/self/mountinfo": MOUNTINFO,
        "/sys/class/block/sda/wwid": "naa.5000\n",
        "/sys/class/block/sda/queue/scheduler": "[none]\n",
        "/sys/class/net/eth0/speed": "1000\n",
        f"/var/lib/docker/containers/{ID}/config.v2.json": json.dumps({"Name": "/web-1"}),
        f"/var/log/pods/prod_api-0_{UID}/x": "",
        "/etc/machine-id": "abc\n",
    }
    for path in ("/system.slice/ssh.service", f"/docker/{ID}", f"/kubepods/pod{UID}"):
        files |= cgroup(path, io="8:0 rios=1\n")
    return plant(tmp_path, files)


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(HostTree(str(root)), host="h1")


def read(reader: Reader, now_s: float = 0.0) -> Reading:
    return reader.read(at_ns=1_700_000_000_000_000_000, now_s=now_s)


def test_all_lines_of_a_pass_have_its_time(reader: Reader) -> None:
    reading = read(reader)

    assert {line.rpartition(" ")[2] for line in reading.lines} == {"1700000000000000000"}
    assert reading.problems == {}


def test_pass_has_every_figure_and_fact(reader: Reader) -> None:
    lines = read(reader).lines

    assert len(only(lines, "diskio")) == len(only(lines, "block_device")) == 2
    assert only(lines, "diskio", "name=sda,wwid=naa.5000 ")
    assert only(lines, "net", "speed=1000i")
    # The folders /docker, /kubepods and /system.slice have no counters of their own here.
    assert len(only(lines, "cgroup")) == 3
    assert only(lines, "sluice_workload") == [
        (
            f'sluice_workload,host=h1,name=docker/4e4e4e4e4e4e cgroup="{MOUNT}/docker/{ID}",'
            'kind="container",name="web-1"'
        ),
        (
            f'sluice_workload,host=h1,name=pod/{UID} cgroup="{MOUNT}/kubepods/pod{UID}",'
            f'kind="pod",name="api-0",namespace="prod",uuid="{UID}"'
        ),
        (
            "sluice_workload,host=h1,name=unit/ssh.service"
            f' cgroup="{MOUNT}/system.slice/ssh.service",kind="unit",name="ssh",unit="ssh.service"'
        ),
    ]
    assert only(lines, "sluice_host") == ['sluice_host,host=h1 machine_id="abc"']


def test_facts_come_at_first_when_they_change_and_every_ten_minutes(
    reader: Reader, root: Path
) -> None:
    read(reader)
    assert only(read(reader, 10.0).lines, "sluice_") == []
    (root / "sys/class/block/sda/queue/scheduler").write_text("none [kyber]\n")

    told = [
        line
        for turn in range(TURNS)
        for line in only(read(reader, 20.0 + turn).lines, "sluice_device")
    ]

    # Every device is looked at again within six passes, and only what changed is sent.
    assert told == ['sluice_device,host=h1,name=sda majmin="8:0",scheduler="kyber",wwn="naa.5000"']
    assert len(only(read(reader, REPEAT_S).lines, "sluice_device", "name=sdb")) == 1


def test_new_disk_is_told_at_once_and_one_that_left_no_more(reader: Reader, root: Path) -> None:
    read(reader)
    (root / "proc/diskstats").write_text(disk("sdb", 16) + disk("sdc", 32))

    reading = read(reader, 10.0)

    assert only(reading.lines, "sluice_device") == ['sluice_device,host=h1,name=sdc majmin="8:32"']
    assert [name for kind, name in reading.facts if kind == "device"] == ["sdb", "sdc"]


def test_interface_is_read_from_its_second_pass_on(reader: Reader, root: Path) -> None:
    counters = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"

    def seen(*names: str) -> list[str]:
        text = "".join(f"{name}: {counters}\n" for name in names)
        (root / "proc/net/dev").write_text(text)
        lines = read(reader).lines
        told = [*only(lines, "net"), *only(lines, "sluice_nic")]
        return sorted({line.partition(" ")[0].rpartition("=")[2] for line in told})

    assert seen("eth0") == ["eth0"]
    # Each of two containers of ten seconds has one.
    assert seen("eth0", "veth1a") == ["eth0"]
    assert seen("eth0", "veth2b") == ["eth0"]
    assert seen("eth0", "veth2b", "eth1") == ["eth0", "veth2b"]
    assert seen("eth0", "eth1") == ["eth0", "eth1"]


def test_name_that_another_device_took_over_is_looked_up_again(reader: Reader, root: Path) -> None:
    read(reader)
    (root / "proc/diskstats").write_text(disk("sda", 48))

    assert only(read(reader, 10.0).lines, "sluice_device") == [
        'sluice_device,host=h1,name=sda majmin="8:48",scheduler="none",wwn="naa.5000"'
    ]


def test_renamed_container_is_told_with_its_new_name(reader: Reader, root: Path) -> None:
    read(reader)
    config = root / f"var/lib/docker/containers/{ID}/config.v2.json"
    config.write_text('{"Name": "/web-2"}')
    os.utime(config, ns=(1, 1))

    told = [
        line
        for turn in range(TURNS)
        for line in only(read(reader, 10.0 + turn).lines, "sluice_workload")
    ]

    assert [line.rpartition(",")[2] for line in told] == ['name="web-2"']


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"Name": 5}', "null", "[" * 100_000])
def test_container_whose_file_is_of_no_use_is_told_without_a_name(root: Path, text: str) -> None:
    (root / f"var/lib/docker/containers/{ID}/config.v2.json").write_text(text)

    lines = read(Reader(HostTree(str(root)), host="h1")).lines

    assert only(lines, "sluice_workload", "docker/") == [
        (
            f'sluice_workload,host=h1,name=docker/4e4e4e4e4e4e cgroup="{MOUNT}/docker/{ID}",'
            'kind="container"'
        )
    ]


def test_device_that_vanishes_between_its_counters_and_its_facts_keeps_its_counters(
    reader: Reader, root: Path
) -> None:
    (root / "proc/diskstats").write_text(disk("sda", 0) + disk("gone", 64))

    reading = read(reader)

    assert len(only(reading.lines, "diskio", "name=gone")) == 1
    assert only(reading.lines, "sluice_device", "name=gone") == [
        'sluice_device,host=h1,name=gone majmin="8:64"'
    ]
    assert reading.problems == {}


def test_unreadable_file_is_named_and_all_else_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refuse(path: str, *arguments: int) -> int:
        if path.endswith("/proc/diskstats"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments)

    # Root reads every file, so a refusal has to be made up.
    monkeypatch.setattr(os, "open", refuse)

    reading = read(Reader(HostTree(str(root)), host="h1"))

    assert reading.problems == {"/proc/diskstats": "Permission denied"}
    assert len(only(reading.lines, "net")) == 1
    assert only(reading.lines, "diskio") == []


def test_file_that_breaks_off_while_it_is_read_loses_its_last_line_only(
    root: Path, reader: Reader
) -> None:
    (root / "proc/diskstats").write_text((disk("sda", 0) + disk("sdb", 16))[:-20])

    reading = read(reader)

    assert [line.split(" ")[0] for line in only(reading.lines, "diskio")] == [
        "diskio,host=h1,name=sda,wwid=naa.5000"
    ]
    assert reading.problems == {"/proc/diskstats": "breaks off in line 2"}


def test_host_without_any_file_has_no_lines(tmp_path: Path) -> None:
    reading = read(Reader(HostTree(str(tmp_path / "nothing")), host="h1"))

    assert (reading.lines, reading.problems) == ((), {})


def test_facts_of_many_disks_are_read_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str | bytes | Link] = {"/proc/self/mountinfo": MOUNTINFO}
    files["/proc/diskstats"] = "".join(disk(f"sd{number}", number) for number in range(200))
    for number in range(200):
        files |= cgroup(f"/system.slice/u{number}.service", io="8:0 rios=1\n")
    reader = Reader(HostTree(str(plant(tmp_path, files))), host="h1")
    read(reader)
    opened: list[str] = []
    really = os.open

    def noted(path: str, *arguments: int) -> int:
        opened.append(path)
        return really(path, *arguments)

    monkeypatch.setattr(os, "open", noted)

    for turn in range(TURNS):
        read(reader, 10.0 + turn)

    # Per pass two files of each cgroup; in six passes the files of each device once.
    cgroups = [path for path in opened if "/sys/fs/cgroup/" in path]
    assert len(cgroups) == 2 * TURNS * (200 + 1)
    devices = [path for path in opened if "/sys/class/block/" in path]
    assert len(devices) <= 25 * 200


def test_export_is_one_subject_however_often_it_is_mounted(root: Path) -> None:
    mounted = "".join(
        f"{number} 27 0:45 / /mnt/{number} rw - nfs4 nas:/db rw,addr=10.0.0.7\n"
        for number in (50, 51)
    )
    (root / "proc/self/mountinfo").write_text(MOUNTINFO + mounted)

    lines = read(Reader(HostTree(str(root)), host="h1")).lines

    assert only(lines, "sluice_mount") == [
        (
            'sluice_mount,host=h1,name=nas:/db address="10.0.0.7",export="nas:/db",fstype="nfs4",'
            'mountpoint="/mnt/50",server="nas"'
        ),
        'sluice_mount,host=h1,name=nas:/db mountpoint="/mnt/51"',
    ]


def test_container_of_proxmox_has_its_number_and_the_name_it_calls_itself(root: Path) -> None:
    config = "# Proxmox\nlxc.arch = amd64\nlxc.uts.name = dns1\n"
    plant(root, {**cgroup("/lxc/105"), **cgroup("/lxc/web"), "/var/lib/lxc/105/config": config})

    lines = read(Reader(HostTree(str(root)), host="h1")).lines

    assert only(lines, "sluice_workload", "name=lxc/105") == [
        (
            f'sluice_workload,host=h1,name=lxc/105 cgroup="{MOUNT}/lxc/105",kind="container",'
            'name="dns1",vmid="105"'
        )
    ]


def test_names_of_podman_come_from_its_own_list(root: Path) -> None:
    listed = "/var/lib/containers/storage/overlay-containers/containers.json"
    files = {listed: json.dumps([{"id": ID, "names": ["cache", "other"]}, "odd", {"id": 5}])}
    plant(root, {**cgroup(f"/machine.slice/libpod-{ID}.scope"), **files})

    reading = read(Reader(HostTree(str(root)), host="h1"))

    assert reading.facts["workload", "podman/4e4e4e4e4e4e"]["name"] == ("cache",)


def test_names_of_containers_are_remembered_as_long_as_these_are_there(root: Path) -> None:
    host, names = HostTree(str(root)), ContainerNames()
    container = Named(Maker.DOCKER, WorkloadKind.CONTAINER, ID)
    config = root / f"var/lib/docker/containers/{ID}/config.v2.json"
    os.utime(config, ns=(1, 1))
    names.facts(container, host)
    # Another name under the same time: only who forgot the first one reads it.
    config.write_text('{"Name": "/web-2"}')
    os.utime(config, ns=(1, 1))

    names.keep_only({ID})
    assert names.facts(container, host) == {"name": "web-1"}
    names.keep_only(set())
    assert names.facts(container, host) == {"name": "web-2"}


def test_nothing_known_is_no_line() -> None:
    assert fact_lines("h1", ("device", "sda"), {}) == []


def test_volume_of_a_pod_is_told_of_its_device_and_no_more_when_the_pod_is_gone(
    root: Path, reader: Reader
) -> None:
    point = f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-1/mount"
    mounts = root / "proc" / "1" / "mountinfo"
    read(reader)
    mounts.parent.mkdir()
    mounts.write_text(f"50 27 8:16 / {point} rw shared:1 - ext4 /dev/sdb rw\n")

    told = [line for line in read(reader).lines if line.startswith("sluice_device")]
    mounts.write_text("")
    without = read(reader)

    assert ['volume="pvc-1"' in line for line in told] == [True]
    assert "volume" not in without.facts["device", "sdb"]
