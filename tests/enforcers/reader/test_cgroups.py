"""Control groups: which are read, under which names, and what becomes of odd ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from enforcers.reader import cgroups
from enforcers.reader.cgroup_names import named
from enforcers.reader.cgroups import CgroupWatch, cgroup_line, find_mount
from enforcers.reader.host_tree import HostTree
from tests.enforcers.reader.trees import MOUNT, MOUNTINFO, cgroup, plant

ID = "4e" * 32
UID = "8a5f2c1e-1b2c-4d3e-9f00-0123456789ab"


@pytest.mark.parametrize(
    ("path", "key", "kind"),
    [
        (f"/system.slice/docker-{ID}.scope", "docker/4e4e4e4e4e4e", "container"),
        (f"/docker/{ID}", "docker/4e4e4e4e4e4e", "container"),
        (f"/machine.slice/libpod-{ID}.scope", "podman/4e4e4e4e4e4e", "container"),
        (
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice",  # noqa: E501
            f"pod/{UID}",
            "pod",
        ),
        (f"/kubepods/besteffort/pod{UID}", f"pod/{UID}", "pod"),
        (f"/system.slice/cri-containerd-{ID}.scope", "container/4e4e4e4e4e4e", "container"),
        (r"/machine.slice/machine-qemu\x2d12\x2ddb\x2d1.scope", "libvirt/db-1", "vm"),
        ("/qemu.slice/101.scope", "qemu/101", "vm"),
        ("/lxc/105", "lxc/105", "container"),
        ("/lxc.payload.web", "lxc/web", "container"),
        ("/system.slice/ssh.service", "unit/ssh.service", "unit"),
        (
            "/system.slice/system-postgresql.slice/postgresql@15-main.service",
            "unit/postgresql@15-main.service",
            "unit",
        ),
        ("/user.slice/user-1000.slice", "unit/user-1000.slice", "unit"),
        (r"/system.slice/caf\xc3\xa9.service", "unit/café.service", "unit"),
    ],
)
def test_path_names_its_workload(path: str, key: str, kind: str) -> None:
    found = named(path)

    assert found is not None
    assert (found.key, found.kind) == (key, kind)


@pytest.mark.parametrize(
    "path",
    [
        "/system.slice", "/machine.slice", "/kubepods/burstable", "/docker", "/lxc",
        "/made-by-hand",
    ],
)  # fmt: skip
def test_slice_is_no_workload(path: str) -> None:
    assert named(path) is None


def test_helpers_of_the_system_are_not_read(tmp_path: Path) -> None:
    helpers = (
        "init.scope",
        f"libpod-conmon-{ID}.scope",
        "lxc.monitor.web",
        "tmp.mount",
        "d.socket",
    )
    for name in (*helpers, "a.service"):
        plant(tmp_path, cgroup(f"/x.slice/{name}"))

    found = CgroupWatch().look(HostTree(str(tmp_path)), MOUNT)

    assert [group.path for group in found] == ["/x.slice", "/x.slice/a.service"]


def test_io_and_pressure_have_the_names_of_cgroup(tmp_path: Path) -> None:
    io = (
        "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=512 dios=3"
        " cost.usage=11 cost.wait=12 cost.indebt=13 cost.indelay=14\n"
        "253:1 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n"
    )
    host = HostTree(str(plant(tmp_path, cgroup("/a b.slice", io=io, waited_us=77))))

    assert cgroup_line("h1", host, f"{MOUNT}/a b.slice") == (
        r"cgroup,host=h1,path=/sys/fs/cgroup/a\ b.slice "
        "io.stat.8:0.rbytes=4096i,io.stat.8:0.wbytes=8192i,io.stat.8:0.rios=1i,"
        "io.stat.8:0.wios=2i,io.stat.8:0.dbytes=512i,io.stat.8:0.dios=3i,"
        "io.stat.8:0.cost.usage=11i,io.stat.8:0.cost.wait=12i,io.stat.8:0.cost.indebt=13i,"
        "io.stat.8:0.cost.indelay=14i,io.stat.253:1.rbytes=1i,io.stat.253:1.wbytes=2i,"
        "io.stat.253:1.rios=3i,io.stat.253:1.wios=4i,io.stat.253:1.dbytes=0i,"
        "io.stat.253:1.dios=0i,io.pressure.some.total=77i"
    )


def test_devices_without_io_on_the_same_line_are_told_apart(tmp_path: Path) -> None:
    # Linux 5.15 and 5.16 forget the line break behind a device that was idle, even the last.
    io = "7:1 7:0 8:0 rios=5 wios=6\n7:2 7:3 "
    host = HostTree(str(plant(tmp_path, cgroup("/a", io=io))))

    line = cgroup_line("h1", host, f"{MOUNT}/a")

    assert line is not None
    assert "io.stat.8:0.rios=5i,io.stat.8:0.wios=6i," in line
    assert "7:" not in line
    assert host.problems == {}


def test_counters_that_break_off_are_left_out_and_told(tmp_path: Path) -> None:
    host = HostTree(str(plant(tmp_path, cgroup("/a", io="8:0 rios=5\n8:16 rios=7 wio"))))

    line = cgroup_line("h1", host, f"{MOUNT}/a")

    assert line is not None
    assert "8:16" not in line
    assert host.problems == {f"{MOUNT}/a/io.stat": "breaks off in line 2"}


def test_values_that_are_no_counters_are_left_out(tmp_path: Path) -> None:
    io = "8:0 rbytes=x wbytes=99999999999999999999 cost.vrate=100.00 rios=7\n=5 8:1\n"
    files = cgroup("/a", io=io)
    pressure = "some avg10=0.00 total=x\nfull avg10=0.00\nmost total=5\n"
    files[f"{MOUNT}/a/io.pressure"] = pressure
    host = HostTree(str(plant(tmp_path, files)))

    assert cgroup_line("h1", host, f"{MOUNT}/a") == (
        "cgroup,host=h1,path=/sys/fs/cgroup/a io.stat.8:0.rios=7i"
    )


def test_slices_are_followed_nine_deep(tmp_path: Path) -> None:
    plant(tmp_path, cgroup("/1/2/3/4/5/6/7/8/9/10"))

    found = CgroupWatch().look(HostTree(str(tmp_path)), MOUNT)

    assert found[-1].path == "/1/2/3/4/5/6/7/8/9"


def test_capture_of_another_collector_is_read(tmp_path: Path, shared_dir: Path) -> None:
    folder = shared_dir / "data/telegraf/inputs/cgroup/testdata/v2"

    line = cgroup_line("h1", HostTree(), str(folder))

    assert line is not None
    assert set(line.rpartition(" ")[2].split(",")) == {
        "io.stat.259:8.rbytes=74526720i",
        "io.stat.259:8.wbytes=3789381632i",
        "io.stat.259:8.rios=2936i",
        "io.stat.259:8.wios=181928i",
        "io.stat.259:8.dbytes=0i",
        "io.stat.259:8.dios=0i",
        "io.pressure.some.total=185162400i",
        "io.pressure.full.total=184607952i",
    }


def test_mount_is_found_also_beside_version_1(tmp_path: Path) -> None:
    hybrid = (
        "30 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
        "33 30 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
        "41 30 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
    )

    assert find_mount(HostTree(str(plant(tmp_path, {"/proc/self/mountinfo": hybrid})))) == (
        "/sys/fs/cgroup/unified"
    )
    assert find_mount(HostTree(str(tmp_path / "nothing"))) is None


def test_nothing_is_read_below_a_workload(tmp_path: Path) -> None:
    pod = f"/kubepods/pod{UID}"
    for path in ("/system.slice/a.service/init.scope", f"{pod}/{ID}", "/x/y/z.service/w"):
        plant(tmp_path, cgroup(path))

    found = CgroupWatch().look(HostTree(str(tmp_path)), MOUNT)

    assert [group.path for group in found] == [
        "/kubepods", pod, "/system.slice", "/system.slice/a.service", "/x", "/x/y",
        "/x/y/z.service",
    ]  # fmt: skip


def test_five_thousand_containers_of_ten_seconds_leave_no_series(tmp_path: Path) -> None:
    host, watch = HostTree(str(tmp_path)), CgroupWatch()
    plant(tmp_path, cgroup("/docker", io="8:0 rios=9000\n") | cgroup(f"/docker/{ID}"))
    watch.look(host, MOUNT)
    docker = tmp_path / MOUNT.lstrip("/") / "docker"
    for generation in range(2):
        for number in range(2500):
            (docker / f"{generation * 2500 + number:064x}").mkdir()

        found = watch.look(host, MOUNT)

        # Their I/O is in that of the group above, and the old container goes on.
        assert [group.path for group in found] == ["/docker", f"/docker/{ID}"]
        assert watch.young == 2500
        for number in range(2500):
            (docker / f"{generation * 2500 + number:064x}").rmdir()


def test_groups_of_builders_that_live_for_seconds_leave_no_series(tmp_path: Path) -> None:
    # BuildKit makes one for each step of a build, under a name that says nothing.
    host, watch = HostTree(str(plant(tmp_path, cgroup("/docker/buildkit")))), CgroupWatch()
    watch.look(host, MOUNT)
    for step in range(3):
        folder = tmp_path / MOUNT.lstrip("/") / "docker" / "buildkit" / f"{step:x}k3v9q"
        folder.mkdir()

        found = watch.look(host, MOUNT)

        assert [group.path for group in found] == ["/docker", "/docker/buildkit"]
        assert watch.young == 1
        folder.rmdir()


def test_link_to_a_folder_is_no_group(tmp_path: Path) -> None:
    plant(tmp_path, cgroup("/a.slice"))
    (tmp_path / MOUNT.lstrip("/") / "a.slice" / "round").symlink_to("..")

    found = CgroupWatch().look(HostTree(str(tmp_path)), MOUNT)

    assert [group.path for group in found] == ["/a.slice"]


def test_problems_are_bounded(tmp_path: Path) -> None:
    host = HostTree(str(tmp_path))

    for number in range(150):
        host.note(f"file {number}", "is odd")

    assert len(host.problems) == 100


def test_group_is_read_from_its_second_pass_on(tmp_path: Path) -> None:
    host, watch = HostTree(str(plant(tmp_path, cgroup("/system.slice")))), CgroupWatch()
    watch.look(host, MOUNT)
    plant(tmp_path, cgroup("/system.slice/new.service"))

    second, third = watch.look(host, MOUNT), watch.look(host, MOUNT)

    assert [group.path for group in second] == ["/system.slice"]
    assert [group.path for group in third] == ["/system.slice", "/system.slice/new.service"]


def test_more_groups_than_are_read_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "MOST_CGROUPS", 3)
    for number in range(5):
        plant(tmp_path, cgroup(f"/s{number}.slice"))
    host = HostTree(str(tmp_path))

    assert len(CgroupWatch().look(host, MOUNT)) == 3
    assert host.problems == {MOUNT: "has more than 3 cgroups: the others are not read"}


def test_group_that_vanishes_between_finding_and_reading_has_no_line(tmp_path: Path) -> None:
    host = HostTree(str(plant(tmp_path, cgroup("/a.slice", io="8:0 rios=1\n"))))
    shutil.rmtree(tmp_path / MOUNT.lstrip("/") / "a.slice")

    assert cgroup_line("h1", host, f"{MOUNT}/a.slice") is None
    assert host.problems == {}


@pytest.mark.parametrize(
    "name",
    [b"two words", b"new\nline", "\u202egnp.exe".encode(), b"latin\xff", b"a,b=c"],
    ids=repr,
)
def test_group_with_any_name_is_read_under_it(tmp_path: Path, name: bytes) -> None:
    folder = os.fsencode(tmp_path) + os.fsencode(MOUNT) + b"/" + name + b".slice"
    os.makedirs(folder)  # noqa: PTH103  the name is bytes
    with open(folder + b"/io.stat", "w") as file:  # noqa: PTH123
        file.write("8:0 rios=1\n")
    host = HostTree(str(tmp_path))

    (group,) = CgroupWatch().look(host, MOUNT)
    line = cgroup_line("h1", host, MOUNT + group.path)

    assert line is not None
    assert line.endswith(" io.stat.8:0.rios=1i")
    assert "\n" not in line


def test_mountinfo_is_that_of_the_tests() -> None:
    assert MOUNTINFO.split()[4] == MOUNT
