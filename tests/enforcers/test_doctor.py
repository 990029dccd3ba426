"""`doctor` names what can be enforced, what not, and what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enforcers import cli, doctor
from enforcers.contract import Selector
from enforcers.host_fs import HostFs
from enforcers.ledger import copy_of
from enforcers.mechanism import HostAccess, SeesObstacles
from enforcers.mechanisms.cgroup_io.mechanism import CgroupIoConfig
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from enforcers.registry import build_mechanisms
from enforcers.state_dir import StateDir
from tests.enforcers.agent_files import write_agent_toml
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import group, vnic
from tests.enforcers.test_dead_man import hold


def obstacles(mechanism: str, config: object, tc: FakeTc, host_fs: HostFs) -> dict[str, Any]:
    """What stands in the way by device: the reason and the remedy, or None."""
    built = build_mechanisms(HostAccess(runner=tc, host_fs=host_fs), {mechanism: config})
    asked = built[mechanism]
    assert isinstance(asked, SeesObstacles)
    return {
        device: None if found is None else (found.reason, found.remedy)
        for device, found in asked.obstacles().items()
    }


def test_interfaces_are_judged_one_by_one(tmp_path: Path, tc: FakeTc) -> None:
    tc.devices["p1"].foreign = ["qdisc htb 8003: root refcnt 2 r2q 10 default 0x30"]
    tc.run(["tc", "qdisc", "add", "dev", "p2", "root", "handle", "51ce:", "htb", "default", "2"])
    config = HtbConfig(interfaces=frozenset({"up0", "p1", "p2", "gone"}))

    found = obstacles("tc_htb", config, tc, HostFs(tmp_path))

    assert found == {
        "up0": None,
        # A tree of an agent, which restores it.
        "p2": None,
        "p1": (
            (
                "it has htb 8003:, which this agent did not make and could not put back: "
                "made again as tc prints it, it is another "
                "(qdisc htb 8003: root r2q 10 default 0x30)"
            ),
            "tc qdisc del dev p1 root",
        ),
        "gone": (
            "there is no such interface",
            "name one of those that `ip link` shows in tc_htb.interfaces",
        ),
    }


def test_interface_of_a_host_without_tc_says_what_to_install(tmp_path: Path, tc: FakeTc) -> None:
    tc.is_installed = False

    found = obstacles("tc_htb", HtbConfig(interfaces=frozenset({"up0"})), tc, HostFs(tmp_path))

    assert found["up0"][1] == "install iproute2"


@pytest.fixture
def cgroups(tmp_path: Path) -> FakeCgroups:
    host_fs = FakeCgroups(tmp_path / "root")
    host_fs.put("/sys/class/block/sda1/dev", "8:1\n")
    host_fs.put("/sys/dev/block/8:1/partition", "1\n")
    host_fs.put(f"{MOUNT}/machine.slice/cgroup.controllers", "cpu io\n")
    host_fs.put(f"{MOUNT}/user.slice/cgroup.controllers", "cpu\n")
    return host_fs


def test_block_devices_and_groups_are_judged_one_by_one(tc: FakeTc, cgroups: FakeCgroups) -> None:
    config = CgroupIoConfig(
        subtrees=frozenset({"/machine.slice", "/user.slice", "/gone.slice"}),
        devices=frozenset({"sda", "sda1", "sdz"}),
    )

    found = obstacles("cgroup_io", config, tc, cgroups)

    assert found == {
        "sda": None,
        "/machine.slice": None,
        "sda1": (
            "it is a partition; I/O is controlled on whole devices only",
            "name its disk in cgroup_io.devices",
        ),
        "sdz": (
            "there is no block device 'sdz'",
            "name one of those that lsblk shows in cgroup_io.devices",
        ),
        "/user.slice": (
            "the io controller is off for it",
            "systemctl set-property user.slice IOAccounting=yes",
        ),
        "/gone.slice": (
            "there is no such control group",
            "start a workload in it, or correct cgroup_io.subtrees",
        ),
    }


def test_host_without_the_io_controller_says_so_for_each_device(
    tmp_path: Path, tc: FakeTc
) -> None:
    config = CgroupIoConfig(devices=frozenset({"sda"}), subtrees=frozenset({"/machine.slice"}))

    found = obstacles("cgroup_io", config, tc, HostFs(tmp_path))

    assert found == {
        "sda": (
            "no cgroup v2 tree is mounted",
            "start the host with the io controller of cgroup v2",
        ),
        "/machine.slice": None,
    }


UNMEASURED = (
    "limits hold; shares and reservations have no effect, for nobody says what the device can do",
    (
        "put the line that `sluice-enforcer measure` proposes into cgroup_io.models; or, if the "
        "capacity that the policy states was measured under full load, name the device in "
        "cgroup_io.capacity_is_measured"
    ),
)
COEFFICIENTS = "rbps=7 rseqiops=6 rrandiops=5 wbps=4 wseqiops=3 wrandiops=2"


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({}, UNMEASURED),
        ({"capacity_is_measured": frozenset({"sda"})}, None),
        ({"models": frozenset({f"sda {COEFFICIENTS}"})}, None),
        ({"keep_iocost": frozenset({"sda"})}, None),
    ],
    ids=["nobody measured", "measured", "operator's model", "kept by will"],
)
def test_device_without_a_model_has_limits_alone_and_says_what_to_do(
    tmp_path: Path, tc: FakeTc, config: dict[str, Any], found: object
) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)

    answer = obstacles(
        "cgroup_io", CgroupIoConfig(devices=frozenset({"sda"}), **config), tc, cgroups
    )

    assert answer == {"sda": found}


def test_device_that_somebody_gave_a_model_says_nothing_of_it(tmp_path: Path, tc: FakeTc) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=True)

    found = obstacles("cgroup_io", CgroupIoConfig(devices=frozenset({"sda"})), tc, cgroups)

    assert found == {"sda": None}


OF_WEIGHTS = "limits hold; shares and reservations have no effect: "
DISK = "/sys/dev/block/8:0"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (
            {f"{DISK}/loop/backing_file": "/srv/a.img\n"},
            (
                (
                    f"{OF_WEIGHTS}8:0 is a loop device, whose I/O waits in the disk of /srv/a.img "
                    "anyway"
                ),
                "name that disk instead",
            ),
        ),
        (
            {f"{DISK}/queue/scheduler": "none mq-deadline [bfq]\n"},
            (
                (
                    f"{OF_WEIGHTS}8:0 has the scheduler BFQ, which goes by weights of its own "
                    "(io.bfq.weight) and not by io.weight"
                ),
                f"write mq-deadline to {DISK}/queue/scheduler",
            ),
        ),
        ({f"{DISK}/queue/scheduler": "none [mq-deadline] bfq\n"}, None),
    ],
    ids=["loop device", "BFQ", "BFQ not chosen"],
)
def test_device_whose_weights_would_do_nothing_says_what_to_do(
    tmp_path: Path, tc: FakeTc, files: dict[str, str], found: object
) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=True)
    for place, text in files.items():
        cgroups.put(place, text)

    answer = obstacles("cgroup_io", CgroupIoConfig(devices=frozenset({"sda"})), tc, cgroups)

    assert answer == {"sda": found}


def test_device_without_request_queues_says_what_to_name(tmp_path: Path, tc: FakeTc) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=True)
    (cgroups.root / f"{DISK}/mq".lstrip("/")).rename(tmp_path / "mq")

    found = obstacles("cgroup_io", CgroupIoConfig(devices=frozenset({"sda"})), tc, cgroups)

    assert found["sda"] == (
        f"{OF_WEIGHTS}8:0 has no request queue of its own, which iocost needs",
        "name the disks below it",
    )


def mounted(number: str, place: str, kind: str, source: str) -> str:
    """A line of mountinfo."""
    return f"29 1 {number} / {place} rw,relatime shared:1 - {kind} {source} rw\n"


@pytest.mark.parametrize(
    ("where", "is_told"),
    [
        (("8:0", "/srv", "jfs"), True),
        (("8:1", "/srv", "vfat"), True),
        (("8:1", "/srv", "ext4"), False),
        (("8:1", "/srv", "xfs"), False),
        (("8:1", "/boot/efi", "vfat"), False),
        (("8:16", "/srv", "vfat"), False),
    ],
    ids=["disk", "partition", "ext4", "xfs", "the firmware's", "another disk"],
)
def test_filesystem_without_cgroup_writeback_is_told(
    tmp_path: Path, tc: FakeTc, where: tuple[str, str, str], is_told: bool
) -> None:
    number, place, kind = where
    cgroups = FakeCgroups(tmp_path / "root", iocost=True)
    for name, text in (("partition", "1\n"), ("dev", "8:1\n")):
        cgroups.put(f"{DISK}/sda1/{name}", text)
    cgroups.put("/proc/self/mountinfo", mounted(number, place, kind, "/dev/sda1"))

    found = obstacles("cgroup_io", CgroupIoConfig(devices=frozenset({"sda"})), tc, cgroups)

    told = (
        (
            f"buffered writes to {place} count for no group, for {kind} has no cgroup writeback; "
            "reads and direct I/O do"
        ),
        "keep what shall be limited on ext4, xfs, btrfs or f2fs, or write it directly",
    )
    assert found == {"sda": told if is_told else None}


@pytest.mark.parametrize("device", ["nas:/vms", "/mnt/vms", "/mnt/vms/"])
def test_filesystem_over_the_network_is_no_block_device(
    tmp_path: Path, tc: FakeTc, device: str
) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=True)
    cgroups.put("/proc/self/mountinfo", mounted("0:52", "/mnt/vms", "nfs4", "nas:/vms"))

    found = obstacles("cgroup_io", CgroupIoConfig(devices=frozenset({device})), tc, cgroups)

    assert found[device] == (
        (
            f"{device} is a filesystem over the network (nfs4), and no block device of this host "
            "carries its I/O"
        ),
        "limit QEMU guests on it by qemu_throttle",
    )


@pytest.fixture
def agent_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = write_agent_toml(
        tmp_path, "http://127.0.0.1:9", '[tc_htb]\ninterfaces = ["up0", "gone"]\n'
    )
    StateDir(root=tmp_path / "state").create()
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", lambda: FakeTc("up0", "p1"))
    return file


def diagnosis(agent_toml: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert cli.main(["doctor", "--json", "--config", str(agent_toml)]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_workload_of_the_policy_held_is_judged(
    agent_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(StateDir(root=agent_toml.parent / "state"), vnic(1), vnic(2), left_s=3600.0)

    found = diagnosis(agent_toml, capsys)

    ready = {item["workload"]: item["is_ready"] for item in found["workloads"]}
    assert ready == {"vm1": True, "vm2": False}
    assert "there is no interface 'p2'" in found["workloads"][1]["reason"]
    assert {item["device"]: item["is_ready"] for item in found["devices"]} == {
        "up0": True,
        "gone": False,
    }


def test_shares_without_effect_are_named_by_device_and_by_workload(
    agent_toml: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cgroups = FakeCgroups(tmp_path / "root", iocost=False)
    for name in ("vm1", "vm2"):
        cgroups.add_group(f"/machine.slice/{name}")
    monkeypatch.setattr("enforcers.assembly.HostFs", lambda: cgroups)
    with agent_toml.open("a") as file:
        file.write('[cgroup_io]\nsubtrees = ["/machine.slice"]\ndevices = ["8:0"]\n')
    groups = (group("/machine.slice/vm1", shares=300), group("/machine.slice/vm2"))
    hold(StateDir(root=agent_toml.parent / "state"), *groups, left_s=3600.0)

    found = diagnosis(agent_toml, capsys)

    (disk,) = [item for item in found["devices"] if item["device"] == "8:0"]
    assert (disk["is_ready"], disk["reason"], disk["remedy"]) == (True, *UNMEASURED)
    said = "ineffective: shares have no effect: iocost is off for 8:0, for nobody says what the"
    assert [item["is_ready"] for item in found["workloads"]] == [False, False]
    assert all(item["reason"].startswith(said) for item in found["workloads"])


def test_workloads_that_no_allocation_means_are_named(
    agent_toml: Path,
    capsys: pytest.CaptureFixture[str],
    cgroups: FakeCgroups,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("db.service", "web.service"):
        cgroups.add_group(f"/machine.slice/{name}")
    with agent_toml.open("a") as file:
        file.write('[cgroup_io]\nsubtrees = ["/machine.slice"]\ndevices = ["8:0"]\n')
    monkeypatch.setattr("enforcers.assembly.HostFs", lambda: cgroups)
    wanted = group("/x", selector=Selector(kind="systemd_unit", value="db.service"))
    hold(StateDir(root=agent_toml.parent / "state"), wanted, left_s=3600.0)

    found = diagnosis(agent_toml, capsys)
    assert cli.main(["doctor", "--config", str(agent_toml)]) == 0

    names = ["systemd_unit=web.service"]
    assert found["unclaimed"] == [{"place": "/machine.slice/web.service", "names": names}]
    assert "/machine.slice/web.service  systemd_unit=web.service" in capsys.readouterr().out


def lose_ledger(state_dir: StateDir) -> None:
    state_dir.ledger.write_text("{")
    copy_of(state_dir.ledger).write_text("{")


@pytest.mark.parametrize(
    ("spoil", "trouble"),
    [
        (lambda _: None, "no policy is held; approve one on the server"),
        (lambda state_dir: hold(state_dir, left_s=-1.0), "the lease of revision 1 is over"),
        (lambda _: None, "the agent does not run; run: systemctl start"),
        (lose_ledger, "is damaged ($"),
    ],
    ids=["no policy", "lease", "no agent", "ledger"],
)
def test_troubles_of_the_agent_itself_are_named(
    agent_toml: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[StateDir], None],
    trouble: str,
) -> None:
    spoil(StateDir(root=agent_toml.parent / "state"))

    assert any(trouble in one for one in diagnosis(agent_toml, capsys)["troubles"])


def test_text_has_controls_devices_and_remedies(
    agent_toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["doctor", "--config", str(agent_toml)]) == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["tc_htb", "limit", "yes", "HTB", "ceil"] in lines
    assert ["gone", "tc_htb", "no"] in [line[:3] for line in lines]


def test_host_that_is_not_enrolled_is_judged_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "DEFAULT_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setattr(doctor, "SubprocessRunner", lambda: FakeTc("up0"))

    status = cli.main(["doctor", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert status == 0
    names = [item["mechanism"] for item in found["mechanisms"]]
    assert names == ["tc_htb", "cgroup_io", "qemu_throttle"]
    assert (found["devices"], found["workloads"]) == ([], [])


def test_configuration_that_is_named_must_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["doctor", "--config", str(tmp_path / "none.toml")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_model_that_others_measured_of_a_kind_of_disk_is_shown_for_a_person_to_judge(
    tmp_path: Path, tc: FakeTc
) -> None:
    host_fs = FakeCgroups(tmp_path, iocost=False)
    # As the kernel shows it: the name is filled up with blanks.
    host_fs.put("/sys/dev/block/8:0/device/model", "SAMSUNG MZVLW256HEHP-00000              \n")
    config = CgroupIoConfig(devices=frozenset({"sda"}))

    reason, remedy = obstacles("cgroup_io", config, tc, host_fs)["sda"]

    assert reason == UNMEASURED[0]
    proposed = remedy.partition(" put '")[2].partition("' into cgroup_io.models")[0]
    assert proposed == (
        "sda rbps=1235803696 rseqiops=130658 rrandiops=134555 "
        "wbps=345351950 wseqiops=63368 wrandiops=23437"
    )
    # It is what the configuration takes, and nothing was taken by itself.
    agreed = CgroupIoConfig(devices=frozenset({"sda"}), models=frozenset({proposed}))
    assert obstacles("cgroup_io", agreed, tc, host_fs) == {"sda": None}
    assert host_fs.writes == []
