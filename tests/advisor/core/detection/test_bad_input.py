"""Any numbers that a measurement can have, in any order: a defined result, and never NaN."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core import canonical
from advisor.core.allocation import ReservationMode
from advisor.core.detection.congestion import (
    CongestionState,
    Detection,
    DetectorSettings,
    DetectorState,
    detect,
)
from advisor.core.detection.correlation import CongestedResource, SlowWorkload, correlate
from advisor.core.detection.external_workload import LoadWindow, detect_external_load
from advisor.core.detection.incident import fold_incidents
from advisor.core.detection.normal_history import HistoryPoint
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import (
    FixedThreshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.core.device.device_fit import LoadPoint
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    UplinkObservation,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
SETTINGS = DetectorSettings(activity_floor=5.0)
# From next to nothing to more than anything, and nothing.
amounts = st.just(0.0) | st.floats(1e-12, 1e18) | st.floats(0, 100)
maybe = st.none() | amounts
positive = st.floats(1e-12, 1e18)
# Half steps give windows that overlap; few steps give duplicates; large ones give gaps.
times = (st.integers(0, 60) | st.integers(0, 100_000)).map(
    lambda step: START + timedelta(seconds=5 * step)
)
allocations = st.lists(
    st.builds(
        AllocationObservation,
        workload=st.sampled_from(["web", "db", "mail"]),
        rate=amounts,
        reservation=amounts,
        limit=st.none() | positive,
        shares=st.floats(1, 1e6),
        backlogged=st.sampled_from([None, True, False]),
        throttled=st.booleans(),
        mean_io_bytes=maybe,
    ),
    max_size=3,
).map(tuple)
datastores = st.builds(
    DatastoreObservation,
    at=times,
    window_s=st.just(10.0),
    hosts=st.lists(
        st.builds(
            HostLatency,
            host=st.sampled_from(["h1", "h2"]),
            latency_ms=maybe,
            io_count=amounts,
            mean_io_bytes=maybe,
            throttled=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    allocations=allocations,
)
uplinks = st.builds(
    UplinkObservation,
    at=times,
    window_s=st.just(10.0),
    tx_bits_per_s=maybe,
    capacity_bits_per_s=st.none() | positive,
    packets=maybe,
    drops=maybe,
    backlog_bytes=maybe,
    segments=maybe,
    retransmits=maybe,
    allocations=allocations,
)
histories = st.lists(datastores, max_size=25) | st.lists(uplinks, max_size=25)


def look(observations, threshold):
    return detect(
        readings_of(observations), settings=SETTINGS, threshold=FixedThreshold(value=threshold)
    )


@given(histories, positive, st.randoms(use_true_random=False))
def test_detection_is_the_same_in_any_order_of_arrival_and_has_no_nan(seen, threshold, random):
    unique = list({one.at: one for one in seen}.values())
    shuffled = list(unique)
    random.shuffle(shuffled)

    found = look(unique, threshold)

    # canonical text refuses NaN and infinities
    assert canonical.dumps(look(shuffled, threshold)) == canonical.dumps(found)
    assert all(point.reason for point in found.points)
    assert [point.at for point in found.points] == sorted({one.at for one in seen})


@given(histories, positive)
def test_windows_given_again_change_nothing(seen, threshold):
    once = look(seen, threshold)

    again = detect(
        readings_of(seen),
        settings=SETTINGS,
        threshold=FixedThreshold(value=threshold),
        initial=once.state,
    )

    assert again == Detection(points=(), state=once.state)
    assert canonical.loads(DetectorState, canonical.dumps(once.state)) == once.state


@given(histories, positive, st.sampled_from(ReservationMode))
def test_incidents_of_any_windows_have_no_nan(seen, threshold, mode):
    points = look(seen, threshold).points

    incidents = fold_incidents(points, seen, mode)

    for one in incidents:
        assert canonical.dumps(one)
        assert one.ended_at is None or one.ended_at > one.started_at
        assert all(signal.worst > signal.threshold for signal in one.signals)
    congested = any(point.state is CongestionState.CONGESTED for point in points)
    assert congested or not incidents


@given(st.lists(st.tuples(times, maybe, maybe), max_size=40))
def test_load_from_outside_is_concluded_of_any_windows_in_any_order(rows):
    windows = [LoadWindow(at=at, own_load=load, latency_ms=ms) for at, load, ms in rows]

    found = detect_external_load(windows, windows)

    assert canonical.dumps(found)
    assert found.reason


@given(st.lists(st.builds(HistoryPoint, at=times, value=amounts), max_size=200), positive)
def test_a_baseline_of_any_history_is_a_number_above_zero(history, fallback):
    for at in (START, START + timedelta(days=3)):
        reading = baseline_threshold(history, percentile=50, fallback=fallback).at(at)

        assert reading.value is not None
        assert 0 < reading.value < math.inf
        assert reading.reason


@given(
    st.lists(
        st.builds(LoadPoint, outstanding_io=positive, latency_ms=positive, iops=positive)
        | st.builds(
            lambda depth, ms: LoadPoint(
                outstanding_io=depth, latency_ms=ms, iops=1000 * depth / ms
            ),
            st.floats(1e-3, 1e6),
            st.floats(1e-3, 1e6),
        ),
        max_size=30,
    ),
    positive,
)
def test_a_threshold_near_the_peak_of_any_points_is_a_number_above_zero(points, fallback):
    reading = peak_throughput_threshold(points, fallback=fallback).at(START)

    assert reading.value is not None
    assert 0 < reading.value < math.inf


@given(
    st.lists(
        st.builds(
            CongestedResource,
            resource=st.sampled_from(["ds1", "ds2", "up0"]),
            carries_others=st.booleans(),
            began_at=times,
            ended_at=st.none(),
            disks=st.sampled_from(["", "shelf"]),
        ),
        max_size=6,
    ),
    st.lists(
        st.builds(
            SlowWorkload,
            workload=st.sampled_from(["web", "db"]),
            resource=st.sampled_from(["ds1", "ds3"]),
            began_at=times,
        ),
        max_size=6,
    ),
)
def test_every_congested_resource_is_in_an_incident(congested, slow):
    correlated = correlate(congested, slow)

    named = {name for one in correlated for name in one.resources}
    assert {one.resource for one in congested} <= named
    assert all(one.reason for one in correlated)


def test_nothing_has_a_defined_result_everywhere():
    assert look([], 1.0).points == ()
    assert fold_incidents([], [], ReservationMode.FLOOR) == []
    assert detect_external_load([], []).began_at is None
    assert readings_of([]) == []
    assert baseline_threshold([]).at(START).value is None
    assert peak_throughput_threshold([]).at(START).value is None
    assert correlate([], []) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
@pytest.mark.parametrize(
    "field",
    [
        "tx_bits_per_s",
        "capacity_bits_per_s",
        "packets",
        "drops",
        "backlog_bytes",
        "segments",
        "retransmits",
        "window_s",
    ],
)
def test_an_impossible_number_of_an_uplink_is_refused_by_name(field, value):
    fields = {"at": START, "window_s": 10.0, "tx_bits_per_s": 1.0, "capacity_bits_per_s": 10.0}

    with pytest.raises(ValueError, match=f"^{field} is "):
        UplinkObservation(**fields | {field: value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
@pytest.mark.parametrize("field", ["latency_ms", "io_count", "mean_io_bytes"])
def test_an_impossible_number_of_a_host_is_refused_by_name(field, value):
    with pytest.raises(ValueError, match=f"^{field} is "):
        HostLatency(**{"host": "h1", "latency_ms": 1.0, "io_count": 1.0} | {field: value})
