"""Small things that a host can tell apart: which host is asked, what is put back, which root."""

import json
from pathlib import Path

import pytest

from enforcers import doctor
from enforcers.atomic_file import write_atomically
from enforcers.contract import Unit
from enforcers.host_fs import HostFs
from tests.enforcers.fake_cgroups import FakeCgroups
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, desired, group, uplink, vnic
from tests.enforcers.recorded_runner import RecordedRunner
from tests.enforcers.rig import Rig, host_of_root, start_rig

VM1 = "/machine.slice/vm1.scope"


@pytest.mark.parametrize("is_supported", [True, False])
def test_check_asks_the_host_that_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_supported: bool
) -> None:
    host: HostFs = FakeCgroups(tmp_path) if is_supported else host_of_root(tmp_path)

    doctor.show_host(as_json=True, runner=RecordedRunner(), host_fs=host)

    found = json.loads(capsys.readouterr().out)["mechanisms"]
    answers = {item["mechanism"]: item["supported"] for item in found}
    assert answers["cgroup_io"] is is_supported


def test_interrupted_write_is_told_even_if_its_new_file_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(_: int) -> None:
        for file in tmp_path.iterdir():
            file.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", vanish)

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "state.json", b"{}")


def test_resource_without_allocations_is_put_back_whatever_its_unit(tmp_path: Path) -> None:
    cgroups = FakeCgroups(tmp_path / "root")
    cgroups.add_group(VM1)
    rig = start_rig(tmp_path, FakeTc(), host_fs=cgroups)
    before = cgroups.text(VM1, "io.max")
    rig.apply("cgroup_io", desired(datastore(), group(VM1, limit=500.0)))
    assert cgroups.text(VM1, "io.max") != before

    rig.apply("cgroup_io", desired(datastore(unit=Unit.BITS_PER_S)))

    assert "riops=500" not in cgroups.text(VM1, "io.max")


def test_interface_that_is_gone_is_named(tc: FakeTc, rig: Rig) -> None:
    del tc.devices["up0"]

    plan = rig.plan("tc_htb", desired(uplink(), vnic(1)))

    assert [note.reason for note in plan.notes.values()] == ["there is no interface 'up0'"]


def test_foreign_root_is_named_and_not_its_children(tc: FakeTc, rig: Rig) -> None:
    tc.devices["up0"].foreign = [
        "qdisc fq_codel 8002: parent 8001:1 limit 10240p",
        "qdisc mq 8001: root",
    ]

    plan = rig.plan("tc_htb", desired(uplink(), vnic(1)))

    assert ["up0 has mq 8001:" in note.reason for note in plan.notes.values()] == [True]
