"""The capacity that iocost is told of: corrected downward where it is too high, and probed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Unit
from enforcers.mechanisms.cgroup_io.counts import DiskCount
from enforcers.mechanisms.cgroup_io.tracked_capacity import (
    NO_GRIP_S,
    Look,
    Track,
    followed,
    look,
)

OUTSTANDING = 256


class Device:
    """Eight groups keep 256 I/Os outstanding; those beyond the model's rate wait in iocost."""

    def __init__(self, true: float) -> None:
        self.true = true
        self._piled = 0.0

    def second(self, model: float) -> Look:
        total = min(self.true, model + self._piled)
        self._piled = min(max(self._piled + model - self.true, 0.0), OUTSTANDING)
        return Look(
            elapsed_s=1.0,
            total=total,
            active_groups=8,
            waited_ratio=0.0 if self._piled >= OUTSTANDING else 8.0,
            is_pressed=self._piled > 16,
        )


def start(stated: float) -> Track:
    return Track(stated=stated, capacity=stated)


def run(track: Track, device: Device, seconds: int) -> tuple[Track, list[float]]:
    """The track afterwards, and what the device did each second."""
    totals = []
    for _ in range(seconds):
        seen = device.second(track.capacity)
        totals.append(seen.total)
        track = followed(track, seen)
    return track, totals


@given(st.floats(1.05, 4.0))
def test_model_that_is_too_high_is_below_the_device_within_15_seconds(error: float) -> None:
    device = Device(2000.0)

    track, _ = run(start(2000.0 * error), device, 15)

    assert 0.9 * 2000.0 <= track.capacity < 2000.0
    assert track.trouble_s == 0.0


@given(st.floats(1.05, 4.0))
def test_correction_costs_little_after_a_minute(error: float) -> None:
    device = Device(2000.0)
    track, _ = run(start(2000.0 * error), device, 60)

    track, totals = run(track, device, 600)

    assert sum(totals) / len(totals) >= 0.96 * 2000.0
    # Iocost has its grip nearly all of the time.
    assert track.capacity <= 1.02 * 2000.0


@pytest.mark.parametrize("stated", [2000.0, 1990.0, 1850.0])
def test_capacity_that_the_device_reaches_is_left_as_the_policy_states_it(stated: float) -> None:
    track, _ = run(start(stated), Device(2000.0), 300)

    assert track.capacity == stated


def test_capacity_just_above_the_device_costs_little_in_the_end() -> None:
    track, _ = run(start(2010.0), Device(2000.0), 60)

    _, totals = run(track, Device(2000.0), 60)

    assert sum(totals) / len(totals) >= 0.97 * 2000.0


def test_device_that_takes_many_requests_at_once_is_not_slowed_down_for_it() -> None:
    """Two of eight groups want more, and the device works on many requests of each anyway."""

    def deep(model: float) -> Look:
        return Look(
            elapsed_s=1.0,
            total=model,
            active_groups=8,
            waited_ratio=2.0,
            is_pressed=True,
        )

    track = start(2000.0)
    for _ in range(200):
        track = followed(track, deep(track.capacity))

    assert (track.capacity, track.is_deep) == (2000.0, True)


def test_nobody_is_slowed_down_because_there_is_little_to_do() -> None:
    quiet = Look(
        elapsed_s=1.0,
        total=50.0,
        active_groups=5,
        waited_ratio=0.0,
        is_pressed=False,
    )

    track = start(2000.0)
    for _ in range(100):
        track = followed(track, quiet)

    assert track == start(2000.0)


def test_one_group_alone_may_press_the_device() -> None:
    alone = Look(
        elapsed_s=1.0,
        total=1500.0,
        active_groups=1,
        waited_ratio=0.0,
        is_pressed=True,
    )

    assert followed(followed(start(2000.0), alone), alone).capacity == 2000.0


def test_grip_that_no_correction_brings_back_is_noticed() -> None:
    lost = Look(
        elapsed_s=1.0,
        total=1500.0,
        active_groups=8,
        waited_ratio=0.0,
        is_pressed=True,
    )

    track = start(2000.0)
    for _ in range(int(NO_GRIP_S)):
        track = followed(track, lost)

    assert track.lost_s >= NO_GRIP_S


def disk(at_s: float, **counts: int) -> DiskCount:
    nothing = {"ios": 0, "bytes": 0, "queued_ms": 0}
    return DiskCount(at_s=at_s, **{**nothing, **counts})


def looked(after: DiskCount, *, groups: int = 2, unit: Unit = Unit.IOPS) -> Look | None:
    return look(disk(0.0), after, unit=unit, places=32, active_groups=groups, waited_ratio=0.0)


@pytest.mark.parametrize(
    ("queued_ms", "places", "is_pressed"),
    [(8_000, 32, True), (7_900, 32, False), (1_800, 1, True), (1_700, 1, False)],
    ids=["four in the mean", "fewer", "the only place taken", "mostly"],
)
def test_device_is_pressed_where_requests_pile_up(
    queued_ms: int, places: int, is_pressed: bool
) -> None:
    seen = look(
        disk(0.0),
        disk(2.0, ios=100, queued_ms=queued_ms),
        unit=Unit.IOPS,
        places=places,
        active_groups=2,
        waited_ratio=0.0,
    )

    assert seen is not None
    assert seen.is_pressed is is_pressed


def test_total_is_in_the_unit_of_the_capacity() -> None:
    after = disk(2.0, ios=100, bytes=4096)

    by_ios, by_bytes = looked(after), looked(after, unit=Unit.BYTES_PER_S)

    assert by_ios is not None
    assert by_bytes is not None
    assert (by_ios.total, by_bytes.total) == (50.0, 2048.0)


def test_counters_that_start_again_tell_nothing() -> None:
    assert (
        look(
            disk(0.0, ios=5),
            disk(1.0, ios=4),
            unit=Unit.IOPS,
            places=None,
            active_groups=2,
            waited_ratio=0.0,
        )
        is None
    )
