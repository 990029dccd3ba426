"""The capacity that iocost is told of: corrected downward where it is too high, and probed."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import Unit
from enforcers.mechanisms.cgroup_io.counts import DiskCount
from enforcers.mechanisms.cgroup_io.device_look import Look, look
from enforcers.mechanisms.cgroup_io.tracked_capacity import Track, first_track, followed

TRUE = 2000.0
SERVICE_S = 0.004
MINUTE = 60


class Device:
    """Eight groups keep I/Os outstanding; those beyond the model's rate wait in iocost.

    The device works on some at once, 4 ms on each; what it cannot take yet piles up in it.
    """

    def __init__(self, true: float, *, outstanding: int = 256) -> None:
        self.true = true
        self._most_piled = outstanding - SERVICE_S * true
        self._piled = 0.0

    def second(self, model: float) -> Look:
        total = min(self.true, model + self._piled)
        self._piled = min(max(self._piled + model - self.true, 0.0), self._most_piled)
        queue = SERVICE_S * total + self._piled
        return Look(
            elapsed_s=1.0,
            total=total,
            queue=queue,
            active_groups=8,
            waited_ratio=0.0 if self._piled >= self._most_piled else 8.0,
            is_pressed=queue >= 4,
        )


def start(stated: float, *, may_rise: bool = False) -> Track:
    return first_track(stated, may_rise=may_rise)


def run(track: Track, device: Device, seconds: int) -> tuple[Track, list[float]]:
    """The track afterwards, and what the device did each second."""
    *_, last = steps = list(stepwise(track, device, seconds))
    return last[0], [total for _, total in steps]


def stepwise(track: Track, device: Device, seconds: int) -> Iterator[tuple[Track, float]]:
    """The track and what the device did, after each second."""
    for _ in range(seconds):
        seen = device.second(track.capacity)
        track = followed(track, seen)
        yield track, seen.total


both = pytest.mark.parametrize("may_rise", [False, True], ids=["may not rise", "may rise"])


@both
@given(error=st.floats(1.05, 4.0))
def test_model_that_is_too_high_is_below_the_device_within_15_seconds(
    error: float, may_rise: bool
) -> None:
    track, _ = run(start(TRUE * error, may_rise=may_rise), Device(TRUE), 15)

    assert 0.9 * TRUE <= track.capacity < TRUE
    assert track.trouble_s == 0.0


@both
@given(error=st.floats(1.05, 4.0))
def test_correction_costs_little_after_a_minute(error: float, may_rise: bool) -> None:
    device = Device(2000.0)
    track, _ = run(start(2000.0 * error, may_rise=may_rise), device, 60)

    track, totals = run(track, device, 600)

    assert sum(totals) / len(totals) >= 0.96 * 2000.0
    # Iocost has its grip nearly all of the time.
    assert track.capacity <= 1.02 * 2000.0


@both
@pytest.mark.parametrize("short", range(4))
def test_look_in_which_groups_come_does_not_stand_for_what_the_device_can_do(
    short: int, may_rise: bool
) -> None:
    """Looks of half a second; groups begin in one, and the device does less than it can."""
    track = start(1.3 * TRUE, may_rise=may_rise)

    for number in range(4):
        total = 0.9 * TRUE if number == short else TRUE
        seen = Look(
            elapsed_s=0.5, total=total, queue=64.0, active_groups=8, waited_ratio=0.0,
            is_pressed=True,
        )  # fmt: skip
        track = followed(track, seen)

    assert 0.89 * TRUE <= track.capacity < 0.93 * TRUE


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
            queue=64.0,
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
        queue=0.2,
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
        queue=64.0,
        active_groups=1,
        waited_ratio=0.0,
        is_pressed=True,
    )

    assert followed(followed(start(2000.0), alone), alone).capacity == 2000.0


@given(stated=st.floats(0.5, 1.0))
def test_capacity_that_is_too_low_rises_to_what_the_device_does(stated: float) -> None:
    device = Device(TRUE)
    # A step of 1 % each 4 s.
    needed_s = math.ceil(math.log(1 / stated) / math.log(1.01)) * 4 + MINUTE

    track, _ = run(start(TRUE * stated, may_rise=True), device, needed_s)
    _, totals = run(track, device, 3 * MINUTE)

    assert sum(totals) / len(totals) >= 0.98 * TRUE


@given(stated=st.floats(0.5, 1.0), outstanding=st.integers(12, 1000))
def test_capacity_on_its_way_up_is_never_beyond_the_device_by_more_than_a_step(
    stated: float, outstanding: int
) -> None:
    device = Device(TRUE, outstanding=outstanding)

    steps = list(stepwise(start(TRUE * stated, may_rise=True), device, 15 * MINUTE))

    assert max(track.capacity for track, _ in steps) <= 1.01 * TRUE


@given(stated=st.floats(0.5, 1.0), outstanding=st.integers(12, 1000))
def test_capacity_that_has_risen_stays_within_a_few_percent(
    stated: float, outstanding: int
) -> None:
    device = Device(TRUE, outstanding=outstanding)

    steps = list(stepwise(start(TRUE * stated, may_rise=True), device, 15 * MINUTE))

    there = [track.capacity >= 0.99 * TRUE for track, _ in steps].index(True)
    assert min(track.capacity for track, _ in steps[there:]) >= 0.96 * TRUE
    assert min(total for _, total in steps[there:]) >= 0.96 * TRUE


def test_capacity_that_is_reached_by_a_hair_too_much_is_not_kept() -> None:
    # On its way up it comes to 2001.8, where 16 outstanding pile up in a quarter of a minute.
    device = Device(TRUE, outstanding=16)

    steps = list(stepwise(start(1500.0, may_rise=True), device, 15 * MINUTE))

    assert min(track.capacity for track, _ in steps[2 * MINUTE :]) >= 0.96 * TRUE


@given(stated=st.floats(0.5, 0.9), slower=st.floats(0.3, 0.8))
def test_device_that_becomes_slower_is_followed_downward(stated: float, slower: float) -> None:
    device = Device(TRUE)
    track, _ = run(start(TRUE * stated, may_rise=True), device, 8 * MINUTE)

    device.true = TRUE * slower
    track, _ = run(track, device, MINUTE)

    assert 0.9 * device.true <= track.capacity <= 1.02 * device.true


looks = st.builds(
    Look,
    elapsed_s=st.floats(0.1, 5.0),
    total=st.floats(0.0, 5000.0),
    queue=st.floats(0.0, 300.0),
    active_groups=st.integers(0, 8),
    waited_ratio=st.floats(0.0, 8.0),
    is_pressed=st.booleans(),
)


def test_capacity_that_may_not_rise_is_corrected_to_no_more_than_is_stated() -> None:
    # 92 % of 1050 is 966, and 98.5 % of it 1034.
    lost = {"total": 1050.0, "waited_ratio": 0.0, "is_pressed": True}

    track = after(start(1000.0), 2, **lost)

    assert track.capacity == pytest.approx(966.0)
    assert after(track, 10 * MINUTE).capacity <= 1000.0


@both
@given(seen=st.lists(looks, max_size=60), firm=looks)
def test_no_capacity_is_further_than_a_step_beyond_what_was_stated_or_done(
    seen: list[Look], firm: Look, may_rise: bool
) -> None:
    """Whatever is seen, and also if the same is seen again and again."""
    stated = 1000.0
    track = start(stated, may_rise=may_rise)
    most = stated

    for one in [*seen, *[firm] * 200]:
        most = max(most, one.total) if may_rise else most
        track = followed(track, one)
        step = 1.01 if may_rise else 1.0
        assert 0 <= track.capacity <= step * most * (1 + 1e-9)


def calm_look(track: Track, **change: float) -> Look:
    """Everybody waits in iocost, and the device does all that it lets through, 4 ms each."""
    total = track.capacity
    values = {"elapsed_s": 1.0, "total": total, "queue": SERVICE_S * total, "waited_ratio": 8.0}
    return Look(active_groups=8, **{"is_pressed": False, **values, **change})


def after(track: Track, seconds: int, **change: float) -> Track:
    for _ in range(seconds):
        track = followed(track, calm_look(track, **change))
    return track


def test_capacity_rises_by_one_percent_each_four_seconds() -> None:
    risen = [after(start(1000.0, may_rise=True), seconds).capacity for seconds in (3, 4, 7, 8)]

    assert risen == pytest.approx([1000.0, 1010.0, 1010.0, 1020.1])


@pytest.mark.parametrize(
    "change",
    [{"waited_ratio": 0.01}, {"total": 990.0}],
    ids=["nobody waits", "the device does less than it may"],
)
def test_capacity_stays_unless_it_is_what_holds_everybody_back(change: dict[str, float]) -> None:
    assert after(start(1000.0, may_rise=True), 5 * MINUTE, **change).capacity == 1000.0


@pytest.mark.parametrize(
    ("latency_ms", "capacity"), [(7.9, 1020.1), (8.1, 970.0)], ids=["up to twice", "more"]
)
def test_step_is_taken_back_where_requests_take_twice_as_long(
    latency_ms: float, capacity: float
) -> None:
    track = after(start(1000.0, may_rise=True), 4)

    for _ in range(4):
        queue = latency_ms / 1000 * track.capacity
        track = followed(track, calm_look(track, queue=queue))

    # 3 % below the 1000 that had proved right.
    assert track.capacity == pytest.approx(capacity)


def test_next_try_comes_a_minute_after_the_capacity_is_back() -> None:
    track = after(start(1000.0, may_rise=True), 4)
    track = after(track, 2, queue=100.0)
    assert track.capacity == 970.0
    # What piled up may take 5 s to drain. Two steps to a percent below 1000, and a minute.
    back = after(track, 5 + 4)

    assert back.capacity == pytest.approx(970.0 * 1.01**2)
    assert after(back, MINUTE - 1).capacity == back.capacity
    assert after(back, MINUTE).capacity == pytest.approx(970.0 * 1.01**3)


def test_capacity_that_may_not_rise_comes_back_to_what_is_stated_at_most() -> None:
    device = Device(TRUE)
    track, _ = run(start(2100.0), device, MINUTE)
    device.true = 2 * TRUE

    track, _ = run(track, device, 15 * MINUTE)

    assert 0.99 * 2100.0 <= track.capacity <= 2100.0


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
