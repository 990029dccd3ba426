"""The detector: hysteresis, activity floor, gaps, our own limits, and going on after a stop."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.congestion import FRESH, CongestionState, DetectorSettings, detect
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold, NoThreshold
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    UplinkObservation,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
WINDOW_S = 10.0
THRESHOLD = FixedThreshold(value=10.0)
SETTINGS = DetectorSettings(
    activity_floor=5.0,
    enter_windows=3,
    enter_of=5,
    leave_windows=3,
    exit_ratio=0.8,
    longest_gap_s=30.0,
)
CLEAR, CONGESTED, STALLED, UNKNOWN = CongestionState


def window(index, latency_ms, *, ios=1000.0, throttled=False):
    """A datastore window; latency None means that the host reported none."""
    host = HostLatency(host="h1", latency_ms=latency_ms, io_count=ios, throttled=throttled)
    at = START + timedelta(seconds=WINDOW_S * (index + 1))
    return DatastoreObservation(at=at, window_s=WINDOW_S, hosts=(host,))


def series(*latencies, **kwargs):
    return [window(index, latency, **kwargs) for index, latency in enumerate(latencies)]


def states(observations, settings=SETTINGS, threshold=THRESHOLD):
    found = detect(readings_of(observations), settings=settings, threshold=threshold)
    return [point.state for point in found.points]


def uplink(index, rate, *, allocations=(), capacity=100.0, drops=None):
    at = START + timedelta(seconds=WINDOW_S * (index + 1))
    return UplinkObservation(
        at=at,
        window_s=WINDOW_S,
        tx_bits_per_s=rate,
        capacity_bits_per_s=capacity,
        drops=drops,
        allocations=allocations,
    )


latencies = st.lists(st.none() | st.floats(0, 30), max_size=40)


@given(latencies, st.integers(0, 40))
def test_detection_in_two_parts_equals_detection_in_one(values, cut):
    observations = series(*values)
    whole = detect(readings_of(observations), settings=SETTINGS, threshold=THRESHOLD)

    first = detect(readings_of(observations[:cut]), settings=SETTINGS, threshold=THRESHOLD)
    # Given twice, the windows of the first part change nothing.
    second = detect(
        readings_of(observations), settings=SETTINGS, threshold=THRESHOLD, initial=first.state
    )

    assert first.points + second.points == whole.points
    assert second.state == whole.state


@given(latencies, st.randoms(use_true_random=False))
def test_detection_does_not_depend_on_the_order_of_arrival(values, random):
    observations = series(*values)
    shuffled = list(observations)
    random.shuffle(shuffled)

    assert states(shuffled) == states(observations)


@given(latencies)
def test_every_state_began_before_its_window_ended(values):
    found = detect(readings_of(series(*values)), settings=SETTINGS, threshold=THRESHOLD)

    assert all(point.since < point.at for point in found.points)


@given(latencies)
def test_a_window_is_unknown_exactly_where_nothing_was_measured(values):
    assert [state is UNKNOWN for state in states(series(*values))] == [x is None for x in values]


@given(st.lists(st.floats(0, 10), max_size=40))
def test_nothing_is_congested_that_never_exceeds_the_threshold(values):
    assert CONGESTED not in states(series(*values))


@given(st.lists(st.floats(0, 1e4), max_size=40))
def test_a_device_below_the_activity_floor_is_never_congested(values):
    # 10 I/Os in 10 s: one command per second, whatever it waits.
    assert CONGESTED not in states(series(*values, ios=10))


@pytest.mark.parametrize(
    ("observation", "floor", "reason"),
    [
        (window(0, 20.0, ios=10), 10.0, "idle: less than 10.0 IOPS"),
        (uplink(0, 1e3, capacity=940e6), 9.4e6, "idle: less than 9.40 Mbit/s"),
    ],
    ids=["datastore", "uplink"],
)
def test_activity_floor_is_told_with_its_unit(observation, floor, reason):
    found = detect(
        readings_of([observation]),
        settings=DetectorSettings(activity_floor=floor),
        threshold=THRESHOLD,
    )

    assert [point.reason for point in found.points] == [reason]


@given(st.lists(st.floats(8.001, 30), max_size=40))
def test_congestion_lasts_while_latency_stays_above_the_exit_level(values):
    found = states(series(30, 30, 30, *values))

    assert found == [CONGESTED] * (len(values) + 3)


@pytest.mark.parametrize(
    ("values", "last"),
    [
        ((11, 11), CLEAR),
        ((11, 11, 11), CONGESTED),
        ((11, 1, 11, 1, 11), CONGESTED),
        ((11, 1, 1, 11, 1, 11), CLEAR),
        ((14.9, 14.9), CLEAR),
        ((15, 15), CONGESTED),
        ((20, 1, 1, 1, 11), CONGESTED),
        ((20, 1, 1, 1, 1, 11), CLEAR),
        ((29.9,), CLEAR),
        ((30,), CONGESTED),
    ],
    ids=[
        "2 of 2",
        "3 of 3",
        "3 of 5",
        "2 of the last 5",
        "2 below one and a half times",
        "2 at one and a half times",
        "twice and once in 5",
        "twice and once in 6",
        "1 below three times",
        "1 at three times",
    ],
)
def test_congestion_begins_where_the_severities_of_five_windows_reach_three(values, last):
    assert states(series(*values))[-1] is last


@pytest.mark.parametrize(
    ("values", "last"),
    [((8, 8), CONGESTED), ((8, 8, 8), CLEAR), ((8, 9, 8, 8), CONGESTED)],
    ids=["2 below", "3 below", "interrupted"],
)
def test_congestion_ends_with_three_windows_in_a_row_below_the_exit_level(values, last):
    assert states(series(20, 20, 20, *values))[-1] is last


def test_congestion_dates_from_the_first_window_above():
    found = detect(readings_of(series(1, 20, 20, 20)), settings=SETTINGS, threshold=THRESHOLD)

    # The second window began 10 s after the start.
    assert found.points[-1].since == START + timedelta(seconds=10)


def test_the_end_of_congestion_dates_from_the_first_window_below():
    found = detect(
        readings_of(series(20, 20, 20, 5, 5, 5)), settings=SETTINGS, threshold=THRESHOLD
    )

    assert found.points[-1].state is CLEAR
    assert found.points[-1].since == START + timedelta(seconds=30)


def test_a_short_gap_does_not_end_congestion():
    observations = series(20, 20, 20, None, 20)

    assert states(observations)[-2:] == [UNKNOWN, CONGESTED]


def test_after_a_long_gap_detection_begins_anew():
    before, after = series(20, 20, 20), [window(10, 11), window(11, 11), window(12, 11)]

    assert states(before + after)[-3:] == [CLEAR, CLEAR, CONGESTED]


def test_windows_without_data_for_too_long_forget_what_was_before():
    observations = [*series(20, 20, 20, None, None, None, None), window(7, 20)]

    assert states(observations)[-1] is CLEAR


def test_a_missing_threshold_makes_windows_unknown_with_its_reason():
    found = detect(
        readings_of(series(20)), settings=SETTINGS, threshold=NoThreshold(reason="too thin")
    )

    assert found.points[0].state is UNKNOWN
    assert found.points[0].reason == "too thin"


@pytest.mark.parametrize(
    ("throttled", "last"), [(True, CLEAR), (False, CONGESTED)], ids=["our limit", "the device"]
)
def test_latency_of_our_own_limit_is_never_congestion(throttled, last):
    found = detect(
        readings_of(series(900, 900, 900, throttled=throttled)),
        settings=SETTINGS,
        threshold=THRESHOLD,
    )

    assert found.points[-1].state is last
    assert ("our own limit" in found.points[-1].reason) is throttled


def test_an_uplink_is_congested_when_its_use_exceeds_the_threshold():
    threshold = FixedThreshold(value=0.9)

    assert states([uplink(i, 91.0) for i in range(3)], threshold=threshold)[-1] is CONGESTED
    assert states([uplink(i, 90.0) for i in range(3)], threshold=threshold)[-1] is CLEAR


@pytest.mark.parametrize(
    ("allocation", "last"),
    [
        (AllocationObservation(workload="a", rate=30, reservation=75, backlogged=True), CONGESTED),
        (AllocationObservation(workload="a", rate=30, reservation=75, backlogged=None), CLEAR),
        (AllocationObservation(workload="a", rate=30, reservation=75, backlogged=False), CLEAR),
        (AllocationObservation(workload="a", rate=74, reservation=75, backlogged=True), CLEAR),
        (
            AllocationObservation(
                workload="a", rate=30, reservation=75, backlogged=True, throttled=True
            ),
            CLEAR,
        ),
    ],
    ids=["unmet", "nobody can tell", "wants no more", "met within 5 %", "held by its own limit"],
)
def test_a_busy_uplink_is_congested_where_a_reservation_is_unmet(allocation, last):
    windows = [uplink(i, 85.0, allocations=(allocation,)) for i in range(3)]

    assert states(windows, threshold=FixedThreshold(value=0.9))[-1] is last


@pytest.mark.parametrize(
    ("drops", "last"), [(None, CLEAR), (12, CONGESTED)], ids=["no drops", "drops"]
)
def test_an_unmet_reservation_on_an_idle_uplink_is_not_congestion(drops, last):
    allocation = AllocationObservation(workload="a", rate=30, reservation=75, backlogged=True)
    windows = [uplink(i, 30.0, allocations=(allocation,), drops=drops) for i in range(3)]

    assert states(windows, threshold=FixedThreshold(value=0.9))[-1] is last


@pytest.mark.parametrize(
    ("rate", "capacity", "reason"),
    [(None, 100.0, "nothing was measured"), (50.0, None, "the capacity is not known; set it")],
)
def test_an_uplink_window_without_a_number_is_unknown_with_a_reason(rate, capacity, reason):
    found = detect(
        readings_of([uplink(0, rate, capacity=capacity)]),
        settings=SETTINGS,
        threshold=FixedThreshold(value=0.9),
    )

    assert (found.points[0].state, found.points[0].reason) == (UNKNOWN, reason)


@pytest.mark.parametrize(
    ("rate", "drops", "states_"),
    [
        (149.0, 0.0, [CLEAR, CONGESTED]),
        (150.0, 0.0, [CONGESTED, CONGESTED]),
        # Of 1000 packets a third is lost: 150 bit/s were offered.
        (100.0, 500.0, [CONGESTED, CONGESTED]),
        (100.0, 0.0, [CLEAR, CLEAR]),
    ],
    ids=["less", "one and a half times its capacity", "offered", "full"],
)
def test_one_window_of_one_and_a_half_times_the_capacity_congests_an_uplink(rate, drops, states_):
    windows = [replace(uplink(i, rate, drops=drops), packets=1000.0) for i in range(2)]

    assert states(windows, threshold=FixedThreshold(value=0.9)) == states_


def test_a_grave_window_is_told_with_its_severity():
    found = detect(readings_of(series(42)), settings=SETTINGS, threshold=THRESHOLD)

    assert found.points[0].reason == (
        "above in 1 of 5 windows, at worst 4.2 times the threshold; fixed"
    )


@given(
    st.lists(st.floats(0, 8), max_size=20),
    st.sampled_from([(30.0,), (30.0, 30.0), (200.0, 1.0)]),
    st.integers(3, 40),
)
def test_a_grave_stretch_is_found_and_the_calm_after_it_is_silent(before, stretch, calm):
    found = states(series(*before, *stretch, *([4.0] * calm)))
    begin = len(before)

    assert CONGESTED in found[begin : begin + len(stretch)]
    assert CONGESTED not in found[:begin] + found[begin + len(stretch) + 2 :]


def test_congestion_that_comes_back_at_once_needs_twelve_low_windows_to_end():
    # Ends with window 1, comes back with window 4: from then on twelve windows are needed.
    back = series(30, 4, 4, 4, 30, *([4] * 12))

    assert states(back) == [*[CONGESTED] * 3, CLEAR, *[CONGESTED] * 12, CLEAR]


@pytest.mark.parametrize(("calm", "leaves_after"), [(359, 12), (360, 3)])
def test_congestion_after_an_hour_of_calm_ends_as_quickly_as_the_first(calm, leaves_after):
    # An hour has 360 windows of 10 s.
    found = states(series(30, *([4] * calm), 30, *([4] * 12)))

    assert found[1 + calm :] == [CONGESTED] * leaves_after + [CLEAR] * (13 - leaves_after)


@given(st.lists(st.floats(0, 20), min_size=1, max_size=300))
def test_flapping_congestion_never_comes_back_within_twelve_windows_of_its_end(values):
    begun = series(30, 4, 4, 4, 30, *values)
    found = detect(readings_of(begun), settings=SETTINGS, threshold=THRESHOLD).points[4:]

    ends = [
        (now.since, later)
        for now, later in pairwise(found)
        if now.state is CONGESTED and later.state is CLEAR
    ]
    begins = [point.since for point in found if point.state is CONGESTED]
    for _, end in ends:
        later = [since for since in begins if since > end.since]
        assert all(since - end.since >= timedelta(seconds=12 * WINDOW_S) for since in later)


def test_a_device_that_stalls_again_and_again_stays_congested_in_between():
    observations = [hanging(n) if n in (0, 4) else window(n, 4.0) for n in range(17)]

    assert states(observations) == [
        STALLED,
        *[CLEAR] * 3,
        STALLED,
        *[CONGESTED] * 11,
        CLEAR,
    ]


def test_detection_of_nothing_keeps_the_state():
    found = detect([], settings=SETTINGS, threshold=THRESHOLD)

    assert found.points == ()
    assert found.state == FRESH


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("activity_floor", float("nan")),
        ("enter_windows", 6),
        ("enter_windows", 0),
        ("leave_windows", 0),
        ("flap_windows", 0),
        ("calm_windows", 0),
        ("exit_ratio", 0.0),
        ("exit_ratio", 1.1),
        ("longest_gap_s", 0.0),
    ],
)
def test_contradictory_settings_are_refused_with_the_field(field, value):
    with pytest.raises(ValueError, match=rf"^{field} is "):
        DetectorSettings(**{"activity_floor": 1.0, field: value})


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match=r"^at is "):
        DatastoreObservation(at=START.replace(tzinfo=None), window_s=10, hosts=())


def hanging(index, *, in_flight=47.0, busy=1.0, ios=0.0, others=()):
    """A window in which the device of h1 completes so many I/Os and is busy this part of it."""
    host = HostLatency(
        host="h1",
        latency_ms=5.0 if ios else None,
        io_count=ios,
        outstanding_io=in_flight,
        busy_ratio=busy,
    )
    at = START + timedelta(seconds=WINDOW_S * (index + 1))
    return DatastoreObservation(at=at, window_s=WINDOW_S, hosts=(host, *others))


@pytest.mark.parametrize(
    ("observation", "state"),
    [
        (hanging(0), STALLED),
        # A kernel that counts an I/O when it ends does not say how many there are.
        (hanging(0, in_flight=0.0), STALLED),
        (hanging(0, in_flight=0.0, busy=0.0), CLEAR),
        # It hangs since the middle of the window: the next will tell.
        (hanging(0, busy=0.5), CLEAR),
        (hanging(0, ios=1000.0), CLEAR),
        # One I/O in 10 s is below the activity floor, but it completed.
        (hanging(0, ios=1.0), CLEAR),
        (hanging(0, in_flight=None, busy=None), CLEAR),
    ],
    ids=["hangs", "count unknown", "idle", "half a window", "busy", "slow", "not told"],
)
def test_a_device_that_completes_nothing_of_what_is_in_flight_is_stalled(observation, state):
    assert states([observation]) == [state]


def test_a_stall_is_told_with_host_and_count_whatever_the_threshold():
    found = detect(
        readings_of([hanging(0)]), settings=SETTINGS, threshold=NoThreshold(reason="not learnt")
    )

    assert [point.state for point in found.points] == [STALLED]
    assert found.points[0].reason == "I/O is in flight and none completes: 47 on h1"
    assert found.points[0].value is None


def test_a_stall_on_one_host_is_not_hidden_by_i_o_of_another():
    busy = HostLatency(host="h2", latency_ms=2.0, io_count=5000.0, busy_ratio=0.4)

    assert states([hanging(0, others=(busy,))]) == [STALLED]


def test_of_many_stalled_hosts_three_are_named():
    others = tuple(
        HostLatency(host=f"h{n}", latency_ms=None, io_count=0.0, outstanding_io=1, busy_ratio=1.0)
        for n in range(2, 6)
    )

    (point,) = detect(
        readings_of([hanging(0, others=others)]), settings=SETTINGS, threshold=THRESHOLD
    ).points

    assert point.reason == (
        "I/O is in flight and none completes: 47 on h1, 1 on h2, 1 on h3 +2 more"
    )


@pytest.mark.parametrize("before", [[], [4.0] * 5, [20.0] * 5], ids=["new", "clear", "congested"])
def test_stalled_is_above_all_states_from_its_first_window(before):
    index = len(before)
    found = detect(
        readings_of([*series(*before), hanging(index), hanging(index + 1)]),
        settings=SETTINGS,
        threshold=THRESHOLD,
    )

    assert [point.state for point in found.points[-2:]] == [STALLED, STALLED]
    # The stall began with its own first window.
    assert {point.since for point in found.points[-2:]} == {
        START + timedelta(seconds=WINDOW_S * index)
    }


def test_a_short_stall_ends_with_the_first_window_that_is_fast_again():
    assert states([hanging(0), window(1, 4.0)]) == [STALLED, CLEAR]


def test_what_waited_through_a_stall_keeps_it_congested_until_it_is_fast():
    # The I/Os that hung complete at once, with all their wait: 10 s.
    observations = [hanging(0), window(1, 10_000.0), *(window(n, 4.0) for n in (2, 3, 4))]

    assert states(observations) == [STALLED, CONGESTED, CONGESTED, CONGESTED, CLEAR]


def test_after_a_long_stall_three_fast_windows_are_needed():
    observations = [*(hanging(n) for n in range(3)), *(window(n, 4.0) for n in (3, 4, 5))]

    assert states(observations) == [STALLED] * 3 + [CONGESTED, CONGESTED, CLEAR]


def test_detection_goes_on_within_a_stall():
    observations = [window(0, 4.0), *(hanging(n) for n in (1, 2, 3)), window(4, 4.0)]
    whole = detect(readings_of(observations), settings=SETTINGS, threshold=THRESHOLD)

    first = detect(readings_of(observations[:3]), settings=SETTINGS, threshold=THRESHOLD)
    second = detect(
        readings_of(observations[3:]), settings=SETTINGS, threshold=THRESHOLD, initial=first.state
    )

    assert first.points + second.points == whole.points
