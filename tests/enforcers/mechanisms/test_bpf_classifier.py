"""The BPF program in place of u32 filters, on a kernel in memory."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Allocation, Outcome, Selector
from enforcers.mechanism import SeesObstacles
from enforcers.mechanisms.tc_htb import program
from enforcers.mechanisms.tc_htb.class_numbers import numbers_by_selectors
from tests.enforcers.fake_cgroups import MOUNT, FakeCgroups
from tests.enforcers.fake_tc import FakeTc, Killed
from tests.enforcers.policies import desired, document, host_traffic, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig

HTB = "tc_htb"
THREE = desired(uplink(), vnic(1, 30e6), vnic(2), vnic(3))
MARKED_KIND = frozenset({"backup mark=0x5", "migration cgroup=/system.slice/move.service"})


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation that has the program."""
    file = tmp_path / "classify.bpf.o"
    file.write_bytes(b"the program")
    monkeypatch.setattr(program, "OBJECT", file)
    return file


@pytest.fixture
def tc(tc: FakeTc) -> FakeTc:
    """A kernel that takes it."""
    tc.has_libbpf = True
    return tc


def start(directory: Path, tc: FakeTc, **change: Any) -> Rig:
    return start_rig(directory, tc, by_u32=False, **change)


@pytest.fixture
def rig(tmp_path: Path, tc: FakeTc) -> Rig:
    return start(tmp_path, tc)


def told(number: int, kind: str, value: str) -> Allocation:
    return vnic(number, selector=Selector(kind=kind, value=value))


def entries(tc: FakeTc) -> set[str]:
    """What the program looks up, without the classes."""
    loaded = tc.devices["up0"].program
    return set() if loaded is None else {entry.rpartition(",")[0] for entry in loaded[1]}


def class_of(tc: FakeTc, entry: str) -> str:
    loaded = tc.devices["up0"].program
    assert loaded is not None
    (found,) = [one for one in loaded[1] if one.startswith(f"{entry},")]
    return found.rpartition(",")[2]


def test_workloads_are_told_by_one_filter_and_each_has_a_class(tc: FakeTc, rig: Rig) -> None:
    left = rig.apply(
        HTB,
        desired(
            uplink(),
            vnic(1, 30e6),
            told(2, "source_address", "10.0.0.0/8"),
            told(3, "source_address", "fd00::7"),
            told(4, "mark", "0x10/0xf0"),
            told(5, "mark", "7"),
        ),
    )

    # p1 has number 8.
    assert entries(tc) == {
        "workloads,interface,8",
        "workloads,source,10.0.0.0/8",
        "workloads,source,fd00::7/128",
        "workloads,mark,0x10/0xf0",
        "workloads,mark,0x7/0xffffffff",
    }
    assert left.changes == ()
    device = tc.devices["up0"]
    assert device.filters == {}
    assert device.classes[class_of(tc, "workloads,interface,8")].options["rate"] == "30000000bit"


def test_restart_finds_the_program_and_changes_nothing(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    rig.apply(HTB, THREE)

    assert start(tmp_path, tc).plan(HTB, THREE).changes == ()


def test_change_of_rates_leaves_the_program_alone(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)
    tc.commands.clear()

    rig.apply(HTB, desired(uplink(), vnic(1, 40e6), vnic(2), vnic(3)))

    assert tc.commands != []
    assert not any(command.startswith("load_classifier") for command in tc.commands)


def test_program_is_exchanged_before_a_class_goes_and_never_taken_away(
    tc: FakeTc, rig: Rig
) -> None:
    rig.apply(HTB, THREE)
    tc.commands.clear()

    left = rig.apply(HTB, desired(uplink(), vnic(1, 30e6), vnic(2)))

    assert [" ".join(command.split()[:3]) for command in tc.commands] == [
        "load_classifier replace dev",
        "tc class del",
    ]
    assert left.changes == ()


def test_first_program_comes_after_the_classes(tc: FakeTc, rig: Rig) -> None:
    rig.apply(HTB, THREE)

    assert tc.commands[-1].startswith("load_classifier replace")


@pytest.mark.parametrize(
    "value",
    [None, ("sluice-0000000000000000", ("workloads,interface,8,51ce:11",))],
    ids=["gone", "another"],
)
def test_program_that_somebody_changed_is_put_right_and_said_so(
    tc: FakeTc, rig: Rig, value: tuple[str, tuple[str, ...]] | None
) -> None:
    policy = document(vnic(1), vnic(2))
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    before = tc.text("up0")
    tc.devices["up0"].program = value

    result = rig.enforcement.run(policy, previous=None, now_s=10.0)

    assert {item.outcome for item in result.enforced} == {Outcome.DRIFTED}
    assert tc.text("up0") == before


def test_only_the_workload_with_a_new_vnic_is_replaced(tc: FakeTc, rig: Rig) -> None:
    policy = document(vnic(1), vnic(2))
    rig.enforcement.run(policy, previous=None, now_s=0.0)
    classes = set(tc.devices["up0"].classes)
    tc.devices["p2"].index = 99

    result = rig.enforcement.run(policy, previous=None, now_s=10.0)

    outcomes = {item.allocation.id: item.outcome for item in result.enforced}
    assert outcomes == {"net-1": Outcome.UNCHANGED, "net-2": Outcome.REPLACED}
    assert "workloads,interface,99" in entries(tc)
    assert set(tc.devices["up0"].classes) == classes


def test_program_that_does_not_load_leaves_what_was_in_force(tc: FakeTc, rig: Rig) -> None:
    rig.enforcement.run(document(vnic(1, 30e6)), previous=None, now_s=0.0)
    before = tc.text("up0")
    tc.refuse = "load_classifier"

    result = rig.enforcement.run(document(vnic(1, 30e6), vnic(2)), previous=None, now_s=10.0)

    assert {item.outcome for item in result.enforced} == {Outcome.FAILED}
    assert tc.text("up0") == before


def test_everything_comes_back_also_after_a_kill_at_the_program(
    tmp_path: Path, tc: FakeTc, rig: Rig
) -> None:
    before = tc.text("up0")
    tc.kill = "load_classifier"
    with pytest.raises(Killed):
        rig.apply(HTB, THREE)
    tc.kill = None

    start(tmp_path, tc).apply(HTB, nothing("up0"))

    assert tc.text("up0") == before


@pytest.mark.parametrize("is_built", [True, False], ids=["no libbpf", "not built"])
def test_host_that_cannot_load_it_goes_on_with_u32_and_says_why(
    tmp_path: Path, tc: FakeTc, built: Path, is_built: bool
) -> None:
    tc.has_libbpf = False
    if not is_built:
        built.unlink()
    rig = start(tmp_path, tc)

    plan = rig.apply(HTB, desired(uplink(), vnic(1), told(2, "mark", "7")))
    support = rig.mechanisms[HTB].support()

    assert [item["indev"] for item in tc.devices["up0"].filters.values()] == ["p1"]
    why = "there is no libbpf.so.1; install libbpf1" if is_built else "scripts/bpf builds it"
    assert why in plan.notes["net-2"].reason
    assert why in support.reason
    assert support.selectors == ("vnic", "source_address", "host_traffic", "host_kind", "pool")


@pytest.mark.parametrize("first_by_u32", [True, False], ids=["u32 first", "BPF first"])
def test_filters_of_the_other_kind_go_when_the_host_can_or_can_no_longer(
    tmp_path: Path, tc: FakeTc, first_by_u32: bool
) -> None:
    wanted = desired(uplink(), host_traffic(), vnic(1, 30e6), vnic(2))
    before = tc.text("up0")
    start_rig(tmp_path, tc, by_u32=first_by_u32).apply(HTB, wanted)

    rig = start_rig(tmp_path, tc, by_u32=not first_by_u32)
    left = rig.apply(HTB, wanted)
    device = tc.devices["up0"]
    found = (len(device.filters), device.program is None, len(device.classes))
    rig.apply(HTB, nothing("up0"))

    assert left.changes == ()
    # The root, the host's and one for each of the two.
    assert found == ((0, False, 4) if first_by_u32 else (2, True, 4))
    assert tc.text("up0") == before


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("seven", "is not VALUE or VALUE/MASK"),
        ("0", "within 1..0xffffffff"),
        ("7/0", "within 1..0xffffffff"),
        ("0x100000000", "within 1..0xffffffff"),
        ("0x11/0x10", "has bits outside its mask"),
    ],
)
def test_mark_that_no_packet_has_is_refused(rig: Rig, value: str, reason: str) -> None:
    plan = rig.plan(HTB, desired(uplink(), vnic(1), told(2, "mark", value)))

    assert plan.notes["net-2"].outcome is Outcome.UNSUPPORTED
    assert reason in plan.notes["net-2"].reason
    assert set(plan.wanted) == {"net-1"}


def test_same_mark_in_another_spelling_belongs_to_the_first(rig: Rig) -> None:
    plan = rig.plan(HTB, desired(uplink(), told(1, "mark", "7"), told(2, "mark", "0x7")))

    assert plan.notes["net-2"].reason == "mark '0x7' belongs to another allocation already"


def test_fifth_mask_is_refused_and_marks_with_known_masks_are_not(rig: Rig) -> None:
    masks = [told(n, "mark", f"{1 << n:#x}/{1 << n:#x}") for n in range(5)]
    plan = rig.plan(HTB, desired(uplink(), *masks, told(9, "mark", "0x1/0x1")))

    assert {key: note.outcome for key, note in plan.notes.items()} == {
        "net-4": Outcome.UNSUPPORTED,
        "net-9": Outcome.FAILED,
    }


@pytest.fixture
def cgroups(tmp_path: Path) -> FakeCgroups:
    host_fs = FakeCgroups(tmp_path / "root")
    host_fs.put("/proc/self/status", "CapEff:\t000001ffffffffff\n")
    host_fs.put("/proc/self/mountinfo", f"30 24 0:26 / {MOUNT} rw - cgroup2 cgroup2 rw\n")
    for path in ("/machine.slice/web", "/system.slice/move.service", "/a/b/c/d/e/f/g/h/i"):
        host_fs.put(f"{MOUNT}{path}/cgroup.procs", "")
    return host_fs


@pytest.fixture
def group_rig(tmp_path: Path, tc: FakeTc, cgroups: FakeCgroups) -> Rig:
    return start(tmp_path, tc, host_fs=cgroups)


def test_workload_is_told_by_the_number_and_depth_of_its_control_group(
    tc: FakeTc, cgroups: FakeCgroups, group_rig: Rig
) -> None:
    group_rig.apply(HTB, desired(uplink(), told(1, "cgroup", "/machine.slice/web")))

    number = cgroups.path(f"{MOUNT}/machine.slice/web").stat().st_ino
    assert entries(tc) == {f"workloads,cgroup,{number}/2"}


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("/machine.slice/gone", Outcome.FAILED, "there is no control group"),
        ("/a/b/c/d/e/f/g/h/i", Outcome.UNSUPPORTED, "lies 9 groups deep"),
        ("/machine.slice/../machine.slice/web", Outcome.FAILED, "there is no control group"),
        ("/", Outcome.FAILED, "there is no control group"),
    ],
)
def test_control_group_that_cannot_be_told_is_refused(
    group_rig: Rig, path: str, outcome: Outcome, reason: str
) -> None:
    plan = group_rig.plan(HTB, desired(uplink(), told(1, "cgroup", path)))

    assert plan.notes["net-1"].outcome is outcome
    assert reason in plan.notes["net-1"].reason


def test_kinds_are_told_by_mark_and_control_group(
    tmp_path: Path, tc: FakeTc, cgroups: FakeCgroups
) -> None:
    rig = start(tmp_path, tc, host_fs=cgroups, host_kinds=MARKED_KIND)

    rig.apply(HTB, desired(uplink(), host_traffic(20e6), vnic(1)))

    number = cgroups.path(f"{MOUNT}/system.slice/move.service").stat().st_ino
    assert class_of(tc, "host,mark,0x5/0xffffffff") == "51ce:b"
    assert class_of(tc, f"host,cgroup,{number}/2") == "51ce:8"
    # The others still have their ports.
    assert "51ce:5" in {item["classid"] for item in tc.devices["up0"].filters.values()}


def test_kinds_by_mark_are_named_as_an_obstacle_where_there_is_no_program(
    tmp_path: Path, tc: FakeTc
) -> None:
    tc.has_libbpf = False
    rig = start(tmp_path, tc, host_kinds=MARKED_KIND)
    mechanism = rig.mechanisms[HTB]
    assert isinstance(mechanism, SeesObstacles)

    found = mechanism.obstacles()["up0"]

    assert found is not None
    assert not found.is_total
    assert found.reason.startswith("migration, backup: not told by mark or control group")


@given(st.sets(st.integers(1, 10_000), min_size=1, max_size=400), st.randoms())
def test_class_numbers_follow_from_the_selectors_in_any_order(
    numbers: set[int], random: Any
) -> None:
    allocations = [vnic(number) for number in sorted(numbers)]
    shuffled = list(allocations)
    random.shuffle(shuffled)

    found = numbers_by_selectors(allocations)

    assert found == numbers_by_selectors(shuffled)
    assert len(set(found.values())) == len(allocations)
    minors = {int(classid.partition(":")[2], 16) for classid in found.values()}
    assert min(minors) >= 0x10
    assert max(minors) <= 0xFFFD
