"""An agent that takes over a policy from one before it writes nothing of its own at first."""

from functools import partial
from pathlib import Path

import pytest

from enforcers.contract import PolicyDocument
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from tests.enforcers.fake_cgroups import MOUNT
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.mechanisms.balanced_host import FIRST, NAMES, PARENT, Host
from tests.enforcers.policies import document, group
from tests.enforcers.rig import Rig, start_rig

POLICY = document(group(FIRST, limit=500.0, reservation=300.0), group(NAMES[1]), revision=1)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """The first group reads and writes 7:3 and waits, so the loop has set a part and weights."""
    host = Host(tmp_path, tracks=False)
    host.rig.enforcement.run(POLICY, previous=None, now_s=0.0)
    for second in range(1, 4):
        waited = second * 1_000_000
        line = f"8:0 rios={350 * second} wios={150 * second} cost.wait={waited}\n"
        for name in (FIRST, PARENT):
            host.cgroups.put(f"{MOUNT}{name}/io.stat", line)
        host.rig.enforcement.follow(clock_s=partial(float, second))
    return host


def next_agent(host: Host, folder: Path, *, is_at_once: bool = False) -> Rig:
    """One that starts where the other has ended with all left in force."""
    if is_at_once:
        host.rig.enforcement.hand_over()
    else:
        host.rig.enforcement.leave()
    devices = frozenset({"8:0"})
    config = CgroupIoConfig(
        subtrees=frozenset({PARENT}), devices=devices, capacity_is_measured=devices
    )
    return start_rig(folder, FakeTc(), host_fs=host.cgroups, configs={"cgroup_io": config})


def controls(host: Host) -> list[str]:
    return [
        host.cgroups.text(name, control)
        for name in (FIRST, NAMES[1])
        for control in ("io.max", "io.weight")
    ]


@pytest.mark.parametrize("is_at_once", [False, True])
def test_next_agent_begins_with_the_parts_and_weights_that_stand(
    host: Host, tmp_path: Path, is_at_once: bool
) -> None:
    before, audit = controls(host), host.rig.audit()
    rig = next_agent(host, tmp_path, is_at_once=is_at_once)

    rig.enforcement.run(POLICY, previous=POLICY, now_s=4.0)
    rig.enforcement.follow(clock_s=lambda: 4.0)

    assert "riops=370 wiops=170" in before[0]
    assert controls(host) == before
    assert rig.audit() == audit
    assert (rig.executor.writes.made, rig.executor.writes.adjusted) == (0, 0)


def test_next_agent_follows_on_from_there(host: Host, tmp_path: Path) -> None:
    rig = next_agent(host, tmp_path)
    rig.enforcement.run(POLICY, previous=POLICY, now_s=4.0)

    for second in range(4, 12):
        line = f"8:0 rios=1050 wios={450 + 500 * (second - 4)}\n"
        host.cgroups.put(f"{MOUNT}{FIRST}/io.stat", line)
        rig.enforcement.follow(clock_s=partial(float, second))

    assert "riops=10 wiops=500" in host.cgroups.text(FIRST, "io.max")


@pytest.mark.parametrize(
    "parts", ["riops=max wiops=max", "riops=5000 wiops=150", "riops=40 wiops=150"]
)
def test_limit_that_somebody_set_meanwhile_is_put_right(
    host: Host, tmp_path: Path, parts: str
) -> None:
    rig = next_agent(host, tmp_path)
    host.cgroups.put(f"{MOUNT}{FIRST}/io.max", f"8:0 rbps=max wbps=max {parts}\n")

    rig.enforcement.run(POLICY, previous=POLICY, now_s=4.0)

    assert "riops=500 wiops=500" in host.cgroups.text(FIRST, "io.max")


def test_weight_that_somebody_set_meanwhile_is_put_right(host: Host, tmp_path: Path) -> None:
    rig = next_agent(host, tmp_path)
    host.cgroups.put(f"{MOUNT}{FIRST}/io.weight", "default 100\n8:0 777\n")

    rig.enforcement.run(POLICY, previous=POLICY, now_s=4.0)

    assert "777" not in host.cgroups.text(FIRST, "io.weight")


def test_agent_after_one_that_was_killed_has_its_first_values(host: Host, tmp_path: Path) -> None:
    devices = frozenset({"8:0"})
    config = CgroupIoConfig(
        subtrees=frozenset({PARENT}), devices=devices, capacity_is_measured=devices
    )
    rig = start_rig(tmp_path, FakeTc(), host_fs=host.cgroups, configs={"cgroup_io": config})

    rig.enforcement.run(POLICY, previous=POLICY, now_s=4.0)

    assert "riops=500 wiops=500" in host.cgroups.text(FIRST, "io.max")


def test_what_was_left_is_taken_once(host: Host, tmp_path: Path) -> None:
    next_agent(host, tmp_path).enforcement.run(POLICY, previous=POLICY, now_s=4.0)

    # That agent is killed, and somebody sets what the one before it had left.
    assert not (tmp_path / "left.json").exists()


def other(limit: float) -> PolicyDocument:
    return document(group(FIRST, limit=limit, reservation=200.0), group(NAMES[1]), revision=2)


@pytest.mark.parametrize("previous", [POLICY, None], ids=["another", "none"])
def test_policy_that_is_not_that_of_the_former_agent_has_its_first_values(
    host: Host, tmp_path: Path, previous: PolicyDocument | None
) -> None:
    rig = next_agent(host, tmp_path)

    rig.enforcement.run(other(510.0), previous=previous, now_s=4.0)

    assert "riops=510 wiops=510" in host.cgroups.text(FIRST, "io.max")
