"""Between two passes: the model follows what the device does, and a lost grip is told."""

from pathlib import Path
from typing import Any

import pytest

from enforcers.contract import CorrectedModel, Outcome, Unit
from tests.enforcers.fake_cgroups import MOUNT
from tests.enforcers.mechanisms.balanced_host import FIRST, NAMES, POLICY, Host, idle_host
from tests.enforcers.policies import datastore, document, group


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return idle_host(tmp_path)


def press(host: Host, seconds: int, *, waits: tuple[str, ...] = ()) -> None:
    """All four keep the disk full: it does 1500 a second, and 40 requests of each pile up."""
    for _ in range(seconds):
        ms = round(host.now_s * 1000) + 1000
        stat = f"{ms * 3 // 2} 0 0 0 0 0 0 0 160 {ms} {ms * 160} 0 0 0 0 0 0\n"
        host.cgroups.put("/sys/dev/block/8:0/stat", stat)
        host.second(dict.fromkeys(NAMES, 375), waits=waits)


def model_iops(host: Host) -> int:
    words = host.cgroups.read(f"{MOUNT}/io.cost.model").split()
    return int(next(word for word in words if word.startswith("rrandiops=")).partition("=")[2])


def test_model_goes_below_what_the_device_does_when_iocost_holds_nobody_back(host: Host) -> None:
    press(host, 4)
    press(host, 1, waits=tuple(NAMES))

    assert model_iops(host) == 1380  # 92 % of 1500, for the policy says 2000
    assert set(host.run_pass().values()) == {Outcome.UNCHANGED}
    assert model_iops(host) == 1380


def test_corrected_model_is_lower_still_until_groups_have_spent_what_they_saved(
    host: Host,
) -> None:
    models = []
    for waits in ((), (), (), (), (), tuple(NAMES), tuple(NAMES)):
        press(host, 1, waits=waits)
        models.append(model_iops(host))

    # 75 % of 1380.
    assert models[2:] == [2000, 1035, 1035, 1380, 1380]


def test_model_stays_where_nobody_wants_it_tracked(tmp_path: Path) -> None:
    host = Host(tmp_path, tracks=False)
    host.run_pass()

    press(host, 20)
    outcomes = host.run_pass()

    assert model_iops(host) == 2000
    # What nobody corrects is told.
    assert outcomes[FIRST] is Outcome.INEFFECTIVE


def test_model_stays_while_iocost_holds_groups_back(host: Host) -> None:
    press(host, 10, waits=tuple(NAMES))

    assert model_iops(host) == 2000


def keep_up(host: Host, seconds: int, *, waits: tuple[str, ...] = tuple(NAMES)) -> None:
    """The disk does all that the model lets through, two at a time, and these wait in iocost."""
    for _ in range(seconds):
        host.disk(ios=model_iops(host), queue=2)
        host.second(dict.fromkeys(NAMES, model_iops(host) // 4), waits=waits)


@pytest.mark.parametrize(("capacity", "risen"), [(40.0, 40), (60.0, 61)])
def test_model_below_50_iops_stays_for_a_step_is_less_than_a_whole_number(
    tmp_path: Path, capacity: float, risen: int
) -> None:
    groups = [group(FIRST, shares=200), *(group(name) for name in NAMES[1:])]
    policy = document(*groups, resources=(datastore(capacity=capacity),))
    host = Host(tmp_path, policy=policy)
    host.run_pass()

    keep_up(host, 7)

    # 1 % more would be 40.4, and 60.6.
    assert model_iops(host) == risen


def test_model_rises_by_a_percent_each_four_seconds_while_the_device_keeps_up(
    host: Host,
) -> None:
    # The first second is where the disk's counters begin.
    keep_up(host, 1 + 2 * 4)

    # 2020.0 and 2040.2, where the policy states 2000.
    assert model_iops(host) == 2040
    assert set(host.run_pass().values()) == {Outcome.UNCHANGED}
    keep_up(host, 4)
    # 1 % more than the 2040 that the device did.
    assert model_iops(host) == 2060
    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)
    assert "ctrl=auto" in host.cgroups.read(f"{MOUNT}/io.cost.model")


def test_model_goes_back_where_requests_pile_up_after_a_step(host: Host) -> None:
    keep_up(host, 1 + 4)

    for _ in range(2):
        host.disk(ios=2000, queue=30)
        host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))

    assert model_iops(host) == 1940  # 3 % below the 2000 that had proved right


def test_what_piled_up_while_groups_wait_drains_in_a_period(tmp_path: Path) -> None:
    host = Host(tmp_path, tracks=False)
    host.run_pass()

    models = []
    for queue in (2, 2, 2, 64, 2, 2):
        host.disk(ios=2000, queue=queue)
        host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))
        models.append(model_iops(host))

    # At 2000 I/Os a second: 60 are too many, in half a second.
    assert models[2:] == [2000, 1880, 2000, 2000]


def test_what_piled_up_while_nobody_waits_stays(tmp_path: Path) -> None:
    host = Host(tmp_path, tracks=False)
    host.run_pass()

    for _ in range(3):
        host.disk(ios=1500, queue=128)
        host.second(dict.fromkeys(NAMES, 375))

    assert model_iops(host) == 2000


OPERATORS = "rbps=100000000000 rseqiops=900 rrandiops=900 wbps=100000000000 wseqiops=900"


@pytest.mark.parametrize(
    ("config", "iops", "waits"),
    [
        ({"tracks": False}, 2000, tuple(NAMES)),
        ({"models": frozenset({f"8:0 {OPERATORS} wrandiops=900"})}, 900, tuple(NAMES)),
        ({}, 2000, ()),
    ],
    ids=["not to be tracked", "the operator's own", "nobody waits"],
)
def test_model_does_not_rise(
    tmp_path: Path, config: dict[str, Any], iops: int, waits: tuple[str, ...]
) -> None:
    host = Host(tmp_path, **config)
    host.run_pass()

    keep_up(host, 20, waits=waits)

    assert model_iops(host) == iops


def test_corrected_model_goes_back_with_all_else(host: Host) -> None:
    press(host, 5)

    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)

    assert "ctrl=auto" in host.cgroups.read(f"{MOUNT}/io.cost.model")
    assert "enable=0" in host.cgroups.read(f"{MOUNT}/io.cost.qos")


@pytest.mark.parametrize("tracks", [True, False], ids=["tracked", "not tracked"])
def test_weights_without_grip_are_ineffective_until_somebody_waits(
    tmp_path: Path, tracks: bool
) -> None:
    host = Host(tmp_path, tracks=tracks)
    host.run_pass()
    for _ in range(2):
        host.second({})

    press(host, 8)
    at_first = host.run_pass()
    press(host, 6)
    without = host.run_pass()
    press(host, 2, waits=tuple(NAMES))
    again = host.run_pass()

    assert set(at_first.values()) == {Outcome.UNCHANGED}
    # Nobody asks for other shares, and only the first for a reservation.
    assert without == {FIRST: Outcome.INEFFECTIVE} | dict.fromkeys(NAMES[1:], Outcome.UNCHANGED)
    assert set(again.values()) == {Outcome.UNCHANGED}


def test_device_that_works_on_many_at_once_has_nobody_to_hold_back(tmp_path: Path) -> None:
    host = Host(tmp_path, tracks=False)
    host.run_pass()
    for ios, queue in [(500, 1)] * 5 + [(20_000, 40)] * 14:
        # 2 ms each, whether few or many are there.
        host.disk(ios=ios, queue=queue)
        host.second(dict.fromkeys(NAMES, ios // 4))

    assert set(host.run_pass().values()) == {Outcome.UNCHANGED}


def test_correction_is_reported_while_it_stands(host: Host) -> None:
    before = host.rig.enforcement.corrected()
    press(host, 5)

    now = host.rig.enforcement.corrected()
    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)
    host.second({})

    # Lowered to 92 %, two seconds after requests began to pile up.
    found = CorrectedModel(
        device="8:0", unit=Unit.IOPS, stated=2000.0, real=1500.0, model=1380.0, after_s=2.0
    )
    assert before == {}
    assert now == {"cgroup_io": (found,)}
    assert host.rig.enforcement.corrected() == {}


def test_step_that_is_taken_back_is_no_correction(host: Host) -> None:
    keep_up(host, 1 + 4)
    for _ in range(2):
        host.disk(ios=2000, queue=30)
        host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))

    assert model_iops(host) == 1940
    assert host.rig.enforcement.corrected() == {}


def test_next_policy_goes_on_with_the_corrected_model(host: Host) -> None:
    press(host, 4)
    press(host, 1, waits=tuple(NAMES))
    other = document(group(FIRST, reservation=700.0), *(group(name) for name in NAMES[1:]))

    host.rig.enforcement.run(other, previous=POLICY, now_s=host.now_s)
    host.second({})

    assert model_iops(host) == 1380
    # 700 of 1380, and 680 for the others.
    assert host.parts(*NAMES)[0] == pytest.approx(700 / 1380, abs=0.01)
