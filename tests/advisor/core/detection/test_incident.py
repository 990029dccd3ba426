"""Incidents: where they begin and end, who suffers, who causes it, and what proves it."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import CongestionState, detect
from advisor.core.detection.incident import (
    EVIDENCE_ROWS,
    Incident,
    fold_incidents,
)
from advisor.core.detection.observed import readings_of
from advisor.core.detection.parties import SUMS, Parties
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import (
    AllocationObservation,
    UplinkObservation,
)
from advisor.core.standing import UNALLOCATED
from tests.advisor.core.detection.incident_windows import (
    SETTINGS,
    START,
    WINDOW_S,
    datastore,
    stall,
)
from tests.advisor.core.standing_rows import standings


def uplink(index, allocations, *, tx=None):
    at = START + timedelta(seconds=WINDOW_S * (index + 1))
    total = sum(allocation.rate for allocation in allocations)
    return UplinkObservation(
        at=at,
        window_s=WINDOW_S,
        tx_bits_per_s=total if tx is None else tx,
        capacity_bits_per_s=100.0,
        allocations=tuple(allocations),
    )


def incidents(observations, *, threshold, mode):
    found = detect(
        readings_of(observations), settings=SETTINGS, threshold=FixedThreshold(value=threshold)
    )
    return fold_incidents(found.points, observations, mode)


def on_datastore(latencies, allocations=()):
    observations = [datastore(index, value, allocations) for index, value in enumerate(latencies)]
    return incidents(observations, threshold=10.0, mode=ReservationMode.FLOOR)


def on_uplink(allocations, *, tx=None):
    observations = [uplink(index, allocations, tx=tx) for index in range(5)]
    return incidents(observations, threshold=0.9, mode=ReservationMode.ADDITIVE)


@given(st.lists(st.none() | st.floats(0, 30), max_size=60))
def test_incidents_are_apart_in_order_and_only_the_last_is_open(latencies):
    found = on_datastore(latencies)

    for earlier, later in pairwise(found):
        assert earlier.ended_at is not None
        assert earlier.started_at < earlier.ended_at <= later.started_at


@given(st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_every_congested_window_lies_in_an_incident(latencies):
    observations = [datastore(index, value) for index, value in enumerate(latencies)]
    points = detect(
        readings_of(observations), settings=SETTINGS, threshold=FixedThreshold(value=10.0)
    ).points

    found = fold_incidents(points, observations, ReservationMode.FLOOR)

    congested = {point.at for point in points if point.state is CongestionState.CONGESTED}
    assert congested <= {row.at for incident in found for row in incident.evidence}


@given(st.lists(st.floats(0, 30), min_size=1, max_size=60))
def test_folding_from_the_start_of_an_incident_gives_the_same_incident(latencies):
    observations = [datastore(index, value) for index, value in enumerate(latencies)]
    points = detect(
        readings_of(observations), settings=SETTINGS, threshold=FixedThreshold(value=10.0)
    ).points
    whole = fold_incidents(points, observations, ReservationMode.FLOOR)

    for incident in whole:
        later = [point for point in points if point.at > incident.started_at]
        again = fold_incidents(later, observations, ReservationMode.FLOOR)
        assert again[0] == incident


def test_an_incident_runs_from_the_first_window_above_to_the_first_below():
    (incident,) = on_datastore([1, 20, 30, 20, 20, 5, 5, 5])

    assert incident.started_at == START + timedelta(seconds=10)
    assert incident.ended_at == START + timedelta(seconds=50)
    assert incident.peak_value == 30.0
    assert incident.threshold == 10.0


def test_an_incident_that_goes_on_is_open():
    (incident,) = on_datastore([20, 20, 20, 20])

    assert incident.ended_at is None


def test_a_gap_inside_does_not_split_an_incident():
    (incident,) = on_datastore([20, 20, 20, None, 20, 5, 5, 5])

    assert incident.ended_at == START + timedelta(seconds=50)


def test_an_incident_followed_by_silence_ends_with_the_last_window_seen():
    observations = [datastore(i, 20) for i in range(3)] + [datastore(i, 1) for i in range(60, 64)]

    (incident,) = incidents(observations, threshold=10.0, mode=ReservationMode.FLOOR)

    assert incident.ended_at == START + timedelta(seconds=30)


def test_a_slow_datastore_with_thirty_workloads_is_one_incident():
    allocations = [AllocationObservation(workload=f"vm-{i:02}", rate=10.0) for i in range(29)]
    noisy = AllocationObservation(workload="batch", rate=710.0, backlogged=True)
    allocations = [
        AllocationObservation(workload=c.workload, rate=10.0, backlogged=True) for c in allocations
    ]

    (incident,) = on_datastore([20] * 5, [*allocations, noisy])

    # 1,000 IOPS over 30 equal shares: 33.3 each; batch takes 710 of 1,000.
    assert len(incident.victims) == 29
    assert incident.victims[0].entitlement == pytest.approx(1000 / 30)
    (aggressor,) = incident.aggressors
    assert (aggressor.workload, aggressor.part_ratio) == ("batch", pytest.approx(0.71))
    # Rates are means over the windows.
    assert (incident.victims[0].rate, aggressor.rate) == (pytest.approx(10), pytest.approx(710))
    assert aggressor.entitlement == pytest.approx(1000 / 30)


def test_an_unmet_reservation_makes_a_victim_and_the_others_aggressors():
    # NetIOC study, step a at 1:10 under plain sharing: 94 / 3 each; 75 + 19 / 3 are due to web-1.
    allocations = [
        AllocationObservation(workload="web-1", rate=94 / 3, reservation=75),
        AllocationObservation(workload="web-2", rate=94 / 3),
        AllocationObservation(workload="web-3", rate=94 / 3),
    ]

    (incident,) = on_uplink(allocations)

    (victim,) = incident.victims
    assert victim.workload == "web-1"
    assert victim.entitlement == pytest.approx(75 + 19 / 3)
    assert victim.shortfall_ratio == pytest.approx(1 - (94 / 3) / (75 + 19 / 3))
    assert [(a.workload, a.excess_ratio) for a in incident.aggressors] == [
        ("web-2", pytest.approx(0.5)),
        ("web-3", pytest.approx(0.5)),
    ]


def test_large_ios_count_by_the_device_time_they_take():
    # Both do 100 IOPS, but 256 kB cost (51 + 256) / 59 = 5.2 times as much as 8 kB.
    small = AllocationObservation(workload="oltp", rate=100, backlogged=True, mean_io_bytes=8_000)
    large = AllocationObservation(
        workload="scan", rate=100, backlogged=True, mean_io_bytes=256_000
    )

    (incident,) = on_datastore([20] * 5, [small, large])

    assert [a.workload for a in incident.aggressors] == ["scan"]
    assert incident.aggressors[0].part_ratio == pytest.approx(307 / (307 + 59))
    # Half of the device time, in I/Os of 8 kB.
    assert incident.victims[0].entitlement == pytest.approx(100 * (307 + 59) / 59 / 2)


@pytest.mark.parametrize(
    ("allocation", "suffers"),
    [
        ({"backlogged": True}, True),
        ({"backlogged": False}, False),
        ({"backlogged": True, "throttled": True}, False),
        ({"usual_rate": 40.0}, True),
        ({"usual_rate": 5.0}, False),
        ({"reservation": 50.0}, True),
        ({}, False),
    ],
    ids=[
        "more waiting",
        "nothing waiting",
        "its own limit",
        "usually more",
        "usually no more",
        "below its reservation",
        "far below the others",
    ],
)
def test_only_who_wanted_more_is_a_victim(allocation, suffers):
    quiet = AllocationObservation(workload="quiet", rate=5.0, **allocation)
    busy = AllocationObservation(workload="busy", rate=90.0, backlogged=True)

    (incident,) = on_uplink([quiet, busy])

    assert bool(incident.victims) is suffers
    assert bool(incident.aggressors) is suffers


def test_who_lacks_nothing_of_what_it_usually_takes_is_no_victim_beside_one_that_does():
    sated = AllocationObservation(workload="sated", rate=15.0, usual_rate=15.0)
    short = AllocationObservation(workload="short", rate=15.0, usual_rate=30.0)
    noisy = AllocationObservation(workload="noisy", rate=70.0, usual_rate=20.0)

    (incident,) = on_uplink([sated, short, noisy])

    # 100 less 15 leave half of 85 to each of the others, and short wants 30 of it.
    (victim,) = incident.victims
    assert (victim.workload, victim.entitlement) == ("short", pytest.approx(30))
    assert [one.workload for one in incident.aggressors] == ["noisy"]


def test_a_victim_of_latency_that_lacks_no_iops_is_found():
    steady = AllocationObservation(workload="steady", rate=300.0, usual_rate=300.0)
    noisy = AllocationObservation(workload="noisy", rate=700.0, usual_rate=100.0)

    (incident,) = on_datastore([20] * 5, [steady, noisy])

    assert [one.workload for one in incident.victims] == ["steady"]
    assert [one.workload for one in incident.aggressors] == ["noisy"]


def test_allocations_of_one_workload_on_several_hosts_count_together():
    twice = [AllocationObservation(workload="a", rate=10.0, reservation=20, backlogged=True)] * 2
    other = AllocationObservation(workload="b", rate=75.0, backlogged=True)

    (incident,) = on_uplink([*twice, other])

    (victim,) = incident.victims
    # 20 + 55/3 for each of its two allocations.
    assert (victim.rate, victim.reservation) == (20.0, 40.0)
    assert victim.entitlement == pytest.approx(2 * (20 + 55 / 3))


def test_a_workload_with_several_allocations_takes_part_once_in_a_window():
    twice = [AllocationObservation(workload="a", rate=0.25, backlogged=True)] * 2
    other = AllocationObservation(workload="b", rate=94.5, backlogged=True)

    (incident,) = on_uplink([*twice, other])

    (victim,) = incident.victims
    assert (victim.workload, victim.rate) == ("a", 0.5)


def test_aggressors_come_in_order_of_their_share():
    victim = AllocationObservation(workload="web", rate=10.0, reservation=60.0, backlogged=True)
    less = AllocationObservation(workload="a", rate=30.0, backlogged=True)
    more = AllocationObservation(workload="b", rate=60.0, backlogged=True)

    (incident,) = on_uplink([victim, less, more])

    assert [one.workload for one in incident.aggressors] == ["b", "a"]


def test_traffic_of_no_allocation_can_be_the_aggressor():
    allocations = [AllocationObservation(workload="web", rate=20, reservation=60, backlogged=True)]

    (incident,) = on_uplink(allocations, tx=95.0)

    assert incident.aggressors[0].workload == UNALLOCATED
    assert incident.aggressors[0].part_ratio == pytest.approx(75 / 95)


def test_an_idle_allocation_has_no_standing():
    idle = AllocationObservation(workload="idle", rate=0.0, reservation=50)
    busy = AllocationObservation(workload="busy", rate=90.0)

    assert [s.workload for s in standings(uplink(0, [idle, busy]), ReservationMode.FLOOR)] == [
        "busy"
    ]


def test_a_long_incident_keeps_its_first_worst_and_last_window_as_evidence():
    latencies = [20.0] * 400
    latencies[217] = 99.0

    (incident,) = on_datastore(latencies)

    rows = incident.evidence
    # Every eighth window, and beside them the worst, window 217, and the last.
    assert len(rows) == 400 / 8 + 2 <= EVIDENCE_ROWS
    assert rows[0].at == START + timedelta(seconds=10)
    assert rows[-1].at == START + timedelta(seconds=4000)
    assert max(row.value for row in rows) == 99.0 == incident.peak_value


def test_no_points_make_no_incident():
    assert fold_incidents([], [], ReservationMode.FLOOR) == []


def with_stalls(text):
    """Windows by letter: `.` fast, `x` far above the threshold, `!` stalled."""
    latency_ms = {".": 4.0, "x": 50.0}
    observations = [
        stall(index) if letter == "!" else datastore(index, latency_ms[letter])
        for index, letter in enumerate(text)
    ]
    return incidents(observations, threshold=10.0, mode=ReservationMode.FLOOR)


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        # One stalled window is enough: it began with it and ended with it.
        (".!.", [(1, 2, 1, 1)]),
        ("..!!!", [(2, None, 3, 3)]),
        # Congestion that turns into a stall is one incident, and so is what follows it.
        ("xxx!!xx...", [(0, 7, 9, 2)]),
        ("..!x...", [(2, 4, 4, 1)]),
    ],
    ids=["one window", "goes on", "in congestion", "then slow"],
)
def test_a_stall_opens_an_incident_or_keeps_it_open(windows, expected):
    found = with_stalls(windows)

    seen = [
        (
            (one.started_at - START).total_seconds() / WINDOW_S,
            None if one.ended_at is None else (one.ended_at - START).total_seconds() / WINDOW_S,
            one.windows,
            one.stalled_windows,
        )
        for one in found
    ]
    assert seen == expected


def test_a_stall_alone_has_no_peak_and_accuses_nobody():
    (found,) = with_stalls("..!!")

    assert found.peak_value is None
    assert (found.victims, found.aggressors) == ((), ())
    assert [row.state for row in found.evidence] == [CongestionState.STALLED] * 2


def test_an_incident_with_a_stall_has_the_peak_of_its_measured_windows():
    (found,) = with_stalls("xxx!!")

    assert (found.peak_value, found.threshold) == (50.0, 10.0)


@given(st.text(alphabet=".x!", max_size=60))
def test_incidents_with_stalls_are_apart_and_hold_every_alarm(text):
    found = with_stalls(text)

    for earlier, later in pairwise(found):
        assert earlier.ended_at is not None
        assert earlier.started_at < earlier.ended_at <= later.started_at
    assert sum(one.stalled_windows for one in found) == text.count("!")


def test_rate_of_a_workload_is_its_mean_over_the_windows_in_which_it_was_there():
    # web takes all of the first window; from the second on db gets 20 of the 75 reserved for it.
    web = AllocationObservation(workload="web", rate=95, backlogged=True)
    rows = [[web]] + [
        [
            AllocationObservation(workload="web", rate=75, backlogged=True),
            AllocationObservation(workload="db", rate=20, reservation=75, backlogged=True),
        ]
    ] * 4
    observations = [uplink(index, row) for index, row in enumerate(rows)]

    (incident,) = incidents(observations, threshold=0.9, mode=ReservationMode.ADDITIVE)

    (victim,) = incident.victims
    assert (victim.workload, victim.rate, victim.reservation) == ("db", 20.0, 75.0)
    (aggressor,) = incident.aggressors
    # (95 + 4 · 75) / 5
    assert (aggressor.workload, aggressor.rate) == ("web", 79.0)


def test_an_incident_has_no_stall_and_no_party_unless_there_was_one():
    plain = Incident(
        started_at=START,
        ended_at=None,
        peak_value=1.0,
        threshold=0.9,
        windows=1,
        victims=(),
        aggressors=(),
        evidence=(),
    )
    nobody = Parties()

    assert (plain.stalled_windows, plain.signals) == (0, ())
    assert nobody.workloads == ()
    assert nobody.sums.shape == (len(SUMS), 0)
    assert (len(nobody.reservation), len(nobody.usual_rate)) == (0, 0)


def test_a_peak_below_one_is_no_lower_than_a_stall_without_a_value():
    observations = [*(datastore(index, 0.5) for index in range(3)), stall(3), stall(4)]

    (found,) = incidents(observations, threshold=0.1, mode=ReservationMode.FLOOR)

    assert (found.peak_value, found.threshold) == (0.5, 0.1)
    assert found.stalled_windows == 2
