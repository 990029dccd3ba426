"""Iocost of a device: set up by the agent with a model, never by a guess, and put back."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import ControlKind, Outcome, Unit
from enforcers.errors import ValueRefused
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.iocost import model_of
from enforcers.mechanisms.cgroup_io.ownership import TO_MEASURE
from tests.enforcers.fake_cgroups import (
    DEBUG_STATS,
    GUESSED,
    GUESSED_QOS,
    MEASURED,
    MEASURED_QOS,
    MOUNT,
    FakeCgroups,
)
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import datastore, desired, group, nothing
from tests.enforcers.rig import Rig, start_rig

IO = "cgroup_io"
VM1, VM2 = "/machine.slice/vm1.scope", "/machine.slice/vm2.scope"
OWN_QOS = "enable=1 ctrl=user rpct=95.00 rlat=100000 wpct=95.00 wlat=100000 min=100.00 max=100.00"
OPERATORS = "rbps=7 rseqiops=6 rrandiops=5 wbps=4 wseqiops=3 wrandiops=2"


def start(folder: Path, cgroups: FakeCgroups, **config: Any) -> Rig:
    """An agent that may use 8:0, whose capacity was measured, with these other keys."""
    config = {"capacity_is_measured": {"8:0"}} | config
    own = CgroupIoConfig(
        subtrees=frozenset({"/machine.slice"}),
        devices=frozenset({"8:0"}),
        **{key: frozenset(value) for key, value in config.items()},
    )
    return start_rig(folder, FakeTc(), host_fs=cgroups, configs={IO: own})


def a_host(tmp_path: Path, *, iocost: bool = False) -> FakeCgroups:
    cgroups = FakeCgroups(tmp_path / "root", iocost=iocost)
    for path in (VM1, VM2):
        cgroups.add_group(path)
    return cgroups


def device_texts(cgroups: FakeCgroups) -> tuple[str, str, str]:
    return (
        cgroups.read(f"{MOUNT}/io.cost.model"),
        cgroups.read(f"{MOUNT}/io.cost.qos"),
        cgroups.read(DEBUG_STATS),
    )


def unequal(**spec: Any) -> Any:
    return desired(datastore(**spec), group(VM1, shares=300), group(VM2))


def reserved(**spec: Any) -> Any:
    return desired(datastore(**spec), group(VM1, reservation=800.0), group(VM2))


@pytest.mark.parametrize("wanted", [unequal, reserved], ids=["shares", "reservation"])
def test_stock_host_gets_the_model_of_the_capacity_before_iocost_is_enabled(
    tmp_path: Path, wanted: Any
) -> None:
    cgroups = a_host(tmp_path)

    left = start(tmp_path, cgroups).apply(IO, wanted(capacity=2000.7))

    assert left.changes == ()
    assert left.shortfalls["io" + VM1] == {}
    device = [(path, text) for path, text in cgroups.writes if "io.cost" in path]
    rates = "rbps=100000000000 rseqiops=2000 rrandiops=2000"
    rates += " wbps=100000000000 wseqiops=2000 wrandiops=2000"
    assert device[0] == ("/io.cost.model", f"8:0 ctrl=user model=linear {rates}")
    assert device[1] == ("/io.cost.qos", f"8:0 {OWN_QOS}")
    assert len(device) == 2
    first_weight = next(i for i, (path, _) in enumerate(cgroups.writes) if "weight" in path)
    assert first_weight > cgroups.writes.index(device[1])


def test_capacity_in_bytes_is_a_model_of_bytes(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)

    start(tmp_path, cgroups).apply(IO, unequal(unit=Unit.BYTES_PER_S, capacity=5e6))

    model = cgroups.read(f"{MOUNT}/io.cost.model")
    assert "rbps=5000000 rseqiops=10000000 " in model
    assert "wbps=5000000 wseqiops=10000000 " in model


def test_operators_model_comes_before_the_capacity(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)

    start(tmp_path, cgroups, models={f"8:0 {OPERATORS}"}).apply(IO, unequal())

    assert cgroups.read(f"{MOUNT}/io.cost.model") == f"8:0 ctrl=user model=linear {OPERATORS}\n"


def test_model_that_was_there_before_the_agent_stays(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path, iocost=True)

    plan = start(tmp_path, cgroups).apply(IO, unequal())

    assert device_texts(cgroups)[:2] == (MEASURED, MEASURED_QOS)
    assert plan.shortfalls["io" + VM1] == {}
    assert "8:0 300" in cgroups.text(VM1, "io.weight")


@pytest.mark.parametrize(
    "equal",
    [
        desired(datastore(), group(VM1, limit=500.0), group(VM2)),
        desired(datastore(), group(VM1, shares=700), group(VM2, shares=700)),
    ],
    ids=["limit alone", "equal shares"],
)
def test_device_is_left_alone_where_no_weight_is_needed(tmp_path: Path, equal: Any) -> None:
    cgroups = a_host(tmp_path)
    before = device_texts(cgroups)

    start(tmp_path, cgroups).apply(IO, equal)

    assert device_texts(cgroups) == before


def test_equal_shares_that_the_policy_means_switch_iocost_on(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    meant = datastore(divides=True)

    start(tmp_path, cgroups).apply(
        IO, desired(meant, group(VM1, shares=700), group(VM2, shares=700))
    )

    assert device_texts(cgroups)[1].startswith("8:0 enable=1")


def test_equal_shares_of_one_workload_alone_ask_for_nothing(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    before = device_texts(cgroups)

    start(tmp_path, cgroups).apply(IO, desired(datastore(divides=True), group(VM1, shares=700)))

    assert device_texts(cgroups) == before


def as_installed(cgroups: FakeCgroups) -> None:
    """Nobody has told iocost anything."""


def guessed_and_off(cgroups: FakeCgroups) -> None:
    cgroups.put(f"{MOUNT}/io.cost.model", GUESSED)
    cgroups.put(f"{MOUNT}/io.cost.qos", GUESSED_QOS.format(0))


def guessed_and_on(cgroups: FakeCgroups) -> None:
    cgroups.put(f"{MOUNT}/io.cost.model", GUESSED)
    cgroups.put(f"{MOUNT}/io.cost.qos", GUESSED_QOS.format(1))


INEFFECTIVE = (Outcome.INEFFECTIVE, "shares have no effect: iocost is off for 8:0, for")
DOUBTFUL = (Outcome.GUESSED_MODEL, "goes by a model that the kernel guessed")


@pytest.mark.parametrize(
    ("found", "told"),
    [(as_installed, INEFFECTIVE), (guessed_and_off, INEFFECTIVE), (guessed_and_on, DOUBTFUL)],
    ids=["as installed", "guessed and off", "guessed and on"],
)
@pytest.mark.parametrize(
    ("control", "asked"),
    [
        (ControlKind.SHARES, {"shares": 300}),
        (ControlKind.RESERVATION, {"reservation": 400.0}),
    ],
    ids=["shares", "reservation"],
)
def test_device_whose_capacity_nobody_measured_has_limits_alone(
    tmp_path: Path,
    found: Callable[[FakeCgroups], None],
    told: tuple[Outcome, str],
    control: ControlKind,
    asked: dict[str, Any],
) -> None:
    cgroups = a_host(tmp_path)
    found(cgroups)
    before = device_texts(cgroups)
    first = group(VM1, limit=500.0, **asked)

    plan = start(tmp_path, cgroups, capacity_is_measured=()).apply(
        IO, desired(datastore(), first, group(VM2))
    )

    assert device_texts(cgroups) == before
    assert not [path for path, _ in cgroups.writes if "io.cost" in path]
    note = plan.shortfalls[first.id][control]
    assert (note.outcome, told[1] in note.reason) == (told[0], True)
    assert note.reason.endswith(f"; {TO_MEASURE}")
    assert "riops=500" in cgroups.text(VM1, "io.max")


@pytest.mark.parametrize("enabled", [0, 1], ids=["off", "on"])
def test_model_that_was_there_before_the_agent_needs_no_measured_capacity(
    tmp_path: Path, enabled: int
) -> None:
    cgroups = a_host(tmp_path, iocost=True)
    cgroups.put(f"{MOUNT}/io.cost.qos", MEASURED_QOS.replace("enable=1", f"enable={enabled}"))

    plan = start(tmp_path, cgroups, capacity_is_measured=()).apply(IO, unequal())

    assert cgroups.read(f"{MOUNT}/io.cost.model") == MEASURED
    assert "enable=1" in cgroups.read(f"{MOUNT}/io.cost.qos")
    assert plan.shortfalls["io" + VM1] == {}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"capacity_is_measured": ()}, TO_MEASURE),
        ({"keep_iocost": {"8:0"}}, "cgroup_io.keep_iocost leaves it so"),
    ],
    ids=["measured no more", "kept"],
)
def test_model_of_an_agent_with_another_configuration_is_taken_back_and_told_at_once(
    tmp_path: Path, config: dict[str, Any], reason: str
) -> None:
    cgroups = a_host(tmp_path)
    start(tmp_path, cgroups).apply(IO, unequal())
    rig = start(tmp_path, cgroups, **config)

    first = rig.plan(IO, unequal())
    rig.apply(IO, unequal())

    assert reason in first.shortfalls["io" + VM1][ControlKind.SHARES].reason
    assert device_texts(cgroups) == (GUESSED, GUESSED_QOS.format(0), "N\n")


@pytest.mark.parametrize("capacity", [0.3, 0.999])
def test_capacity_below_one_is_no_model_and_is_told(tmp_path: Path, capacity: float) -> None:
    cgroups = a_host(tmp_path)

    plan = start(tmp_path, cgroups).apply(IO, unequal(capacity=capacity))

    assert device_texts(cgroups) == ("", "", "N\n")
    note = plan.shortfalls["io" + VM1][ControlKind.SHARES]
    assert note.outcome is Outcome.INEFFECTIVE
    assert f"whole numbers from 1, and the capacity is stated as {capacity} iops" in note.reason


def test_smallest_capacity_is_a_model_of_one() -> None:
    assert "rseqiops=1 rrandiops=1 " in str(model_of(Unit.IOPS, 1.0))
    with pytest.raises(ValueError, match=r"a capacity of 0\.999 is below 1"):
        model_of(Unit.IOPS, 0.999)


@pytest.mark.parametrize(
    ("iocost", "config", "is_held"),
    [
        (False, {}, True),
        (False, {"capacity_is_measured": ()}, False),
        (True, {"capacity_is_measured": ()}, True),
        (False, {"capacity_is_measured": (), "models": {f"8:0 {OPERATORS}"}}, True),
        (False, {"keep_iocost": {"8:0"}}, False),
    ],
    ids=["measured", "nobody measured", "on already", "operator's model", "kept"],
)
def test_support_says_whether_shares_and_reservations_are_held(
    tmp_path: Path, iocost: bool, config: dict[str, Any], is_held: bool
) -> None:
    rig = start(tmp_path, a_host(tmp_path, iocost=iocost), **config)

    holds = rig.mechanisms[IO].support().holds

    assert holds is not None
    assert (holds.shares.is_held, holds.reservation.is_held) == (is_held, is_held)
    assert holds.limit.is_held


@pytest.mark.parametrize(
    ("model", "qos"),
    [
        (GUESSED, GUESSED_QOS.format(0)),
        (GUESSED, GUESSED_QOS.format(1)),
        (MEASURED, MEASURED_QOS.replace("enable=1", "enable=0")),
    ],
    ids=["off", "on by a guess", "measured and off"],
)
def test_iocost_comes_back_as_it_was_found(tmp_path: Path, model: str, qos: str) -> None:
    cgroups = a_host(tmp_path)
    cgroups.put(f"{MOUNT}/io.cost.model", model)
    cgroups.put(f"{MOUNT}/io.cost.qos", qos)
    before = device_texts(cgroups)
    rig = start(tmp_path, cgroups)
    rig.apply(IO, unequal())

    # The process may have been killed: another one knows what was found by the ledger alone.
    left = start(tmp_path, cgroups).apply(IO, nothing("8:0"))

    assert device_texts(cgroups) == before
    assert (left.changes, left.restored) == ((), rig.ledger.entries())


def test_device_of_which_iocost_was_never_told_goes_back_to_off(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    rig.apply(IO, unequal())

    left = rig.apply(IO, nothing("8:0"))

    assert device_texts(cgroups) == (GUESSED, GUESSED_QOS.format(0), "N\n")
    assert left.changes == ()
    # It is off before it loses its model.
    order = [path for path, text in cgroups.writes if "io.cost" in path]
    assert order[-2:] == ["/io.cost.qos", "/io.cost.model"]


def test_another_disk_of_the_same_number_is_left_as_it_is(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    start(tmp_path, cgroups).apply(IO, unequal())
    cgroups.replace_disk()
    rig = start(tmp_path, cgroups)

    left = rig.apply(IO, nothing("8:0"))

    assert device_texts(cgroups) == (MEASURED, MEASURED_QOS, "N\n")
    assert (left.changes, left.restored) == ((), rig.ledger.entries())


def test_another_disk_of_the_same_number_keeps_its_model_and_comes_back(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    start(tmp_path, cgroups).apply(IO, unequal())
    cgroups.replace_disk()
    quiet = MEASURED_QOS.replace("enable=1", "enable=0")
    cgroups.put(f"{MOUNT}/io.cost.qos", quiet)
    rig = start(tmp_path, cgroups)

    rig.apply(IO, unequal())
    held = device_texts(cgroups)
    rig.apply(IO, nothing("8:0"))

    assert held[0] == MEASURED
    assert OWN_QOS in held[1]
    assert device_texts(cgroups) == (MEASURED, quiet, "N\n")


def test_ledger_of_an_agent_that_did_not_note_the_disk_is_still_put_back(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    first = start(tmp_path, cgroups)
    first.apply(IO, unequal())
    entries = first.ledger.entries()
    of_disk = [entry for entry in entries if entry.thing.startswith("io.cost")]
    first.ledger.release(entries)
    first.ledger.record(tuple(replace(entry, identity=None) for entry in entries))
    rig = start(tmp_path, cgroups)

    left = rig.apply(IO, nothing("8:0"))

    assert all(entry.identity is not None for entry in of_disk)
    assert len(of_disk) == 2
    assert device_texts(cgroups) == (GUESSED, GUESSED_QOS.format(0), "N\n")
    assert (left.changes, left.restored) == ((), rig.ledger.entries())


def test_iocost_goes_back_when_the_policy_needs_no_weights_any_more(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    rig = start(tmp_path, cgroups)
    rig.apply(IO, unequal())

    rig.apply(IO, desired(datastore(), group(VM1, limit=500.0), group(VM2)))

    assert "enable=0" in cgroups.read(f"{MOUNT}/io.cost.qos")
    assert "riops=500" in cgroups.text(VM1, "io.max")


@pytest.mark.parametrize(
    ("texts", "outcome", "reason"),
    [
        (("", ""), Outcome.INEFFECTIVE, "iocost is off for 8:0, and cgroup_io.keep_iocost"),
        ((GUESSED, GUESSED_QOS.format(1)), Outcome.GUESSED_MODEL, "a model that the kernel"),
    ],
    ids=["off", "guessed"],
)
def test_iocost_that_must_be_kept_is_kept_and_its_fault_is_told(
    tmp_path: Path, texts: tuple[str, str], outcome: Outcome, reason: str
) -> None:
    cgroups = a_host(tmp_path)
    cgroups.put(f"{MOUNT}/io.cost.model", texts[0])
    cgroups.put(f"{MOUNT}/io.cost.qos", texts[1])
    first = group(VM1, shares=300, limit=500.0)

    plan = start(tmp_path, cgroups, keep_iocost={"8:0"}).apply(
        IO, desired(datastore(), first, group(VM2))
    )

    assert device_texts(cgroups) == (*texts, "N\n")
    note = plan.shortfalls[first.id][ControlKind.SHARES]
    assert note.outcome is outcome
    assert reason in note.reason
    assert "riops=500" in cgroups.text(VM1, "io.max")


def test_device_without_request_queues_is_told_and_its_limit_holds(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    queues = cgroups.root / "sys/dev/block/8:0/mq"
    (queues / "0/nr_tags").unlink()
    (queues / "0").rmdir()
    queues.rmdir()
    first = group(VM1, shares=300, limit=500.0)

    plan = start(tmp_path, cgroups).apply(IO, desired(datastore(), first, group(VM2)))

    assert "no request queue of its own" in plan.shortfalls[first.id][ControlKind.SHARES].reason
    assert "riops=500" in cgroups.text(VM1, "io.max")


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("loop/backing_file", "/srv/disk.img\n", "8:0 is a loop device"),
        ("queue/scheduler", "none [bfq]\n", "the scheduler BFQ, which goes by weights of its own"),
    ],
    ids=["loop device", "BFQ"],
)
def test_device_whose_weights_would_do_nothing_is_written_limits_alone(
    tmp_path: Path, file: str, text: str, reason: str
) -> None:
    cgroups = a_host(tmp_path)
    cgroups.put(f"/sys/dev/block/8:0/{file}", text)
    first = group(VM1, shares=300, limit=500.0)

    plan = start(tmp_path, cgroups).apply(IO, desired(datastore(), first, group(VM2)))

    note = plan.shortfalls[first.id][ControlKind.SHARES]
    assert note.outcome is Outcome.INEFFECTIVE
    assert reason in note.reason
    assert {path for path, _ in cgroups.writes} == {f"{VM1}/io.max"}


def test_limit_beside_buffered_writes_of_nobody_says_so(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    mounted = "29 1 8:0 / /srv rw - jfs /dev/sda rw\n"
    cgroups.put("/proc/self/mountinfo", mounted)
    limited = group(VM1, limit=500.0)

    plan = start(tmp_path, cgroups).apply(IO, desired(datastore(), limited))

    note = plan.shortfalls[limited.id][ControlKind.LIMIT]
    assert note.outcome is Outcome.UNCHANGED
    assert "buffered writes to /srv count for no group" in note.reason


def test_reservations_beyond_the_capacity_are_told(tmp_path: Path) -> None:
    first = group(VM1, reservation=1500.0)

    plan = start(tmp_path, a_host(tmp_path)).plan(
        IO, desired(datastore(), first, group(VM2, reservation=1000.0))
    )

    note = plan.shortfalls[first.id][ControlKind.RESERVATION]
    assert note.outcome is Outcome.INEFFECTIVE
    assert "reservations of 2500 do not fit a capacity of 2000" in note.reason
    assert ControlKind.SHARES not in plan.shortfalls[first.id]


def test_workloads_of_several_parents_are_told(tmp_path: Path) -> None:
    cgroups = a_host(tmp_path)
    cgroups.add_group("/machine.slice/pods/vm3")
    far = group("/machine.slice/pods/vm3", shares=300)

    plan = start(tmp_path, cgroups).plan(IO, desired(datastore(), group(VM1), far))

    assert "groups of one parent" in plan.shortfalls[far.id][ControlKind.SHARES].reason


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("models", f"sdz {OPERATORS}", "must be one of cgroup_io.devices"),
        ("models", "8:0 rbps=7", "must give each of"),
        ("models", f"8:0 {OPERATORS} rbps=8", "must give each of"),
        ("models", f"8:0 {OPERATORS.replace('=7', '=0')}", "whole numbers from 1"),
        ("keep_iocost", "sdz", "must be one of cgroup_io.devices"),
        ("capacity_is_measured", "sdz", "must be one of cgroup_io.devices"),
    ],
)
def test_configuration_of_no_use_is_refused(key: str, value: str, rule: str) -> None:
    with pytest.raises(ValueRefused, match=rule) as refused:
        CgroupIoConfig(devices=frozenset({"8:0"}), **{key: frozenset({value})})

    assert refused.value.key == key
