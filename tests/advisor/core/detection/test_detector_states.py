"""What the detector carries from window to window, and what the signals of an uplink decide."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from advisor.core.detection.congestion import (
    FRESH,
    CongestionState,
    Detection,
    DetectorSettings,
    DetectorState,
    RecentWindow,
    StatePoint,
    detect,
)
from advisor.core.detection.observed import readings_of
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import FixedThreshold, NoThreshold
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    Observation,
    UplinkObservation,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
WINDOW_S = 10.0
SETTINGS = DetectorSettings(activity_floor=5.0, longest_gap_s=30.0)
CLEAR, CONGESTED, STALLED, UNKNOWN = CongestionState


def at(window: int) -> datetime:
    """When a window ends."""
    return START + timedelta(seconds=WINDOW_S * (window + 1))


def began(window: int) -> datetime:
    return at(window - 1)


def datastore(
    window: int, latency_ms: float | None, *, io_count: float = 1000.0
) -> DatastoreObservation:
    host = HostLatency(host="h1", latency_ms=latency_ms, io_count=io_count, mean_io_bytes=67_000.0)
    return DatastoreObservation(at=at(window), window_s=WINDOW_S, hosts=(host,))


def hung(window: int) -> DatastoreObservation:
    host = HostLatency(
        host="h1", latency_ms=None, io_count=0.0, outstanding_io=3.0, busy_ratio=1.0
    )
    return DatastoreObservation(at=at(window), window_s=WINDOW_S, hosts=(host,))


def followed(observations: list[Observation], *, limit: float = 10.0) -> Detection:
    return detect(
        readings_of(observations), settings=SETTINGS, threshold=FixedThreshold(value=limit)
    )


def states(*latencies: float | None) -> list[CongestionState]:
    windows: list[Observation] = [
        datastore(number, latency_ms) for number, latency_ms in enumerate(latencies)
    ]
    return [point.state for point in followed(windows).points]


def test_point_tells_the_numbers_it_was_decided_by() -> None:
    (point,) = followed([datastore(0, 20.0)]).points

    # 67 kB cost (51 + 67) / 59 = 2 I/Os of the reference size, so 20 ms are 10 of such a one.
    assert point == StatePoint(
        at=at(0),
        state=CLEAR,
        since=began(0),
        value=10.0,
        threshold=10.0,
        load=100.0,
        reason="above in 0 of 5 windows; fixed",
        device_load=200.0,
    )


def test_reason_counts_the_windows_above_of_the_last_five() -> None:
    windows: list[Observation] = [
        datastore(number, ms) for number, ms in enumerate((22, 22, 1, 1, 1, 1))
    ]

    reasons = [point.reason for point in followed(windows).points]

    assert [reason.partition(";")[0] for reason in reasons] == [
        f"above in {count} of 5 windows" for count in (1, 2, 2, 2, 2, 1)
    ]


def test_state_holds_what_the_next_window_needs() -> None:
    windows: list[Observation] = [datastore(0, 22.0), datastore(1, 1.0), datastore(2, None)]

    state = followed(windows).state

    assert state == DetectorState(
        last_at=at(2),
        measured_at=at(1),
        verdict=CLEAR,
        verdict_since=began(0),
        unknown_since=began(2),
        recent=(
            RecentWindow(began_at=began(0), above=True, severity=1.1),
            RecentWindow(began_at=began(1), above=False),
        ),
        below_since=began(1),
        below_windows=1,
    )


def test_unknown_dates_from_the_first_window_without_a_number() -> None:
    windows: list[Observation] = [datastore(0, 1.0), datastore(1, None), datastore(2, None)]

    points = followed(windows).points

    assert [(point.state, point.since) for point in points[1:]] == [(UNKNOWN, began(1))] * 2


def test_state_after_a_short_gap_dates_from_before_it() -> None:
    windows: list[Observation] = [datastore(0, 1.0), datastore(1, None), datastore(2, 1.0)]

    last = followed(windows).points[-1]

    assert (last.state, last.since) == (CLEAR, began(0))


def test_unknown_after_a_long_silence_dates_from_the_last_measurement() -> None:
    windows: list[Observation] = [datastore(0, 1.0), datastore(9, None)]

    last = followed(windows).points[-1]

    assert (last.state, last.since) == (UNKNOWN, at(0))


def test_windows_below_the_exit_level_count_only_in_a_row() -> None:
    # 8.0 is reached by 16 ms of 67 kB; between lies 9.
    high, between, low = 90.0, 18.0, 2.0
    enter = (high, high, high)

    assert states(*enter, low, low, between, low, low)[-1] is CONGESTED
    assert states(*enter, low, low, between, low, low, low)[-1] is CLEAR


def test_windows_above_before_the_end_do_not_count_for_the_next_congestion() -> None:
    high, low = 22.0, 2.0

    # Left with window 5; of the five before 7, three are above only together with the old ones.
    found = states(high, high, high, low, low, low, high, high)

    assert found[-3:] == [CLEAR, CLEAR, CLEAR]


def test_new_congestion_dates_from_the_first_window_above_of_those_that_count() -> None:
    # Above are 0, 6, 7 and 8: the five newest at 8 are 4 to 8.
    windows: list[Observation] = [
        datastore(number, 22.0 if number in (0, 6, 7, 8) else 2.0) for number in range(9)
    ]

    last = followed(windows).points[-1]

    assert (last.state, last.since) == (CONGESTED, began(6))


def test_stall_after_a_stall_is_another_one() -> None:
    points = followed([hung(0), datastore(1, 2.0), hung(2), hung(3)]).points

    assert [(point.state, point.since) for point in points] == [
        (STALLED, began(0)),
        (CLEAR, began(1)),
        (STALLED, began(2)),
        (STALLED, began(2)),
    ]


@pytest.mark.parametrize(("stalls", "state"), [(2, CLEAR), (3, CONGESTED)])
def test_three_stalled_windows_of_five_are_congestion_afterwards(
    stalls: int, state: CongestionState
) -> None:
    windows: list[Observation] = [hung(number) for number in range(stalls)]

    last = followed([*windows, datastore(stalls, 2.0)]).points[-1]

    assert (last.state, last.since) == (state, began(stalls))


def test_short_stall_is_followed_by_congestion_unless_latency_is_below_the_exit_level() -> None:
    # 18 ms of 67 kB are 9: neither above 10 nor at most 8.
    points = followed([hung(0), datastore(1, 18.0)]).points

    assert points[-1].state is CONGESTED


def test_windows_already_seen_are_ignored_and_newer_ones_are_not() -> None:
    first = followed([datastore(0, 1.0), datastore(1, 1.0)])

    second = detect(
        readings_of([datastore(0, 90.0), datastore(1, 90.0), datastore(2, 90.0)]),
        settings=SETTINGS,
        threshold=FixedThreshold(value=10.0),
        initial=first.state,
    )

    assert [point.at for point in second.points] == [at(2)]


def test_load_of_0_is_idle_even_without_a_floor() -> None:
    found = detect(
        readings_of([datastore(0, None, io_count=0.0)]),
        settings=DetectorSettings(activity_floor=0.0),
        threshold=NoThreshold(reason="not learnt"),
    )

    assert found.points[0].state is CLEAR


def reading(*hosts: HostLatency) -> Reading:
    """The reading of a window of 1 s, in which the load is the number of I/Os."""
    (found,) = readings_of([DatastoreObservation(at=at(0), window_s=1.0, hosts=hosts)])
    return found


@pytest.mark.parametrize(
    ("busy_ratio", "io_count", "stalled"),
    [(0.9, 0.0, True), (0.89, 0.0, False), (1.0, 1.0, False), (None, 0.0, False)],
)
def test_stall_needs_ios_in_flight_for_nine_tenths_of_the_window(
    busy_ratio: float | None, io_count: float, stalled: bool
) -> None:
    host = HostLatency(host="h1", latency_ms=None, io_count=io_count, busy_ratio=busy_ratio)

    assert bool(reading(host).stall) is stalled


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        (1, "7 on h0"),
        (3, "7 on h0, 7 on h1 and 7 on h2"),
        (4, "7 on h0, 7 on h1, 7 on h2 +1 more"),
    ],
)
def test_three_stalled_hosts_are_named_and_the_others_counted(hosts: int, text: str) -> None:
    stalled = [
        HostLatency(
            host=f"h{number}", latency_ms=None, io_count=0.0, outstanding_io=6.6, busy_ratio=1.0
        )
        for number in range(hosts)
    ]

    assert reading(*stalled).stall == f"I/O is in flight and none completes: {text}"


@pytest.mark.parametrize("outstanding_io", [None, 0.0, 0.4])
def test_stall_of_an_unknown_number_of_ios_names_the_host_alone(
    outstanding_io: float | None,
) -> None:
    host = HostLatency(
        host="h1", latency_ms=None, io_count=0.0, outstanding_io=outstanding_io, busy_ratio=1.0
    )

    assert reading(host).stall.endswith("completes: on h1")


def test_latency_of_throttled_hosts_without_io_is_not_our_own_limit() -> None:
    idle = HostLatency(host="h1", latency_ms=None, io_count=0.0, throttled=True)
    unknown = HostLatency(host="h2", latency_ms=None, io_count=5.0)

    found = reading(idle, unknown)

    assert (found.value, found.load, found.own_limit) == (None, 5.0, False)
    assert found.reason == "no latency was measured"


def test_ios_without_latency_count_as_ios_and_not_for_the_mean() -> None:
    hosts = [
        HostLatency(host="h1", latency_ms=4.0, io_count=10.0),
        HostLatency(host="h2", latency_ms=None, io_count=30.0),
        HostLatency(host="h3", latency_ms=900.0, io_count=0.0),
    ]

    found = reading(*hosts)

    assert (found.value, found.load, found.own_limit) == (4.0, 40.0, False)
    assert (found.reason, found.stall) == ("", "")
    limited = HostLatency(host="h1", latency_ms=4.0, io_count=10.0, throttled=True)
    assert reading(limited).reason == "latency was caused by our own limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplink:
    """An uplink of 100 bit/s; `waits` None means that nobody looked."""

    rate: float
    waits: bool | None = None
    drops: float = 0.0
    retransmits: float = 0.0
    reservation: float = 0.0

    def window(self, number: int) -> UplinkObservation:
        """The same in each window."""
        return UplinkObservation(
            at=at(number),
            window_s=WINDOW_S,
            tx_bits_per_s=self.rate,
            capacity_bits_per_s=100.0,
            packets=1000.0,
            drops=self.drops,
            segments=1000.0,
            retransmits=self.retransmits,
            allocations=(
                AllocationObservation(
                    workload="db",
                    rate=self.rate,
                    reservation=self.reservation,
                    backlogged=self.waits,
                ),
            ),
        )


def uplink_states(*links: Uplink) -> list[CongestionState]:
    windows: list[Observation] = [link.window(number) for number, link in enumerate(links)]
    return [point.state for point in followed(windows, limit=0.9).points]


FULL = Uplink(rate=95.0)
FULL_WITHOUT_QUEUES = Uplink(rate=95.0, waits=False)
LOW = Uplink(rate=72.0)
BETWEEN = Uplink(rate=80.0)
BETWEEN_WITHOUT_QUEUES = Uplink(rate=80.0, waits=False)
DROPPING = Uplink(rate=50.0, drops=200.0)
LOSING = Uplink(rate=50.0, retransmits=500.0)
SHORT = Uplink(rate=50.0, waits=True, drops=1.0, reservation=75.0)


@pytest.mark.parametrize(
    ("link", "state"),
    [
        (FULL, CONGESTED),
        (FULL_WITHOUT_QUEUES, CLEAR),
        (Uplink(rate=95.0, drops=200.0), CONGESTED),
        (Uplink(rate=95.0, waits=False, drops=200.0), CONGESTED),
        (DROPPING, CLEAR),
        (LOSING, CLEAR),
        (SHORT, CONGESTED),
        (LOW, CLEAR),
    ],
    ids=["full", "no queue", "drops", "drops, no queue", "bursts", "elsewhere", "short", "low"],
)
def test_uplink_enters_congestion_by_its_signals(link: Uplink, state: CongestionState) -> None:
    assert uplink_states(link, link, link)[-1] is state


@pytest.mark.parametrize(
    ("link", "state"),
    [
        # Leaves at 0.8 · 90 = 72 bit/s.
        (LOW, CLEAR),
        (Uplink(rate=72.1), CONGESTED),
        (BETWEEN, CONGESTED),
        (BETWEEN_WITHOUT_QUEUES, CLEAR),
        (FULL_WITHOUT_QUEUES, CLEAR),
        (FULL, CONGESTED),
        (DROPPING, CLEAR),
        (Uplink(rate=80.0, drops=200.0), CONGESTED),
        (SHORT, CONGESTED),
    ],
    ids=[
        "low",
        "just above",
        "between",
        "between without queues",
        "full without queues",
        "full",
        "bursts",
        "bursts between",
        "short",
    ],
)
def test_uplink_leaves_congestion_where_it_is_low_or_nobody_waits(
    link: Uplink, state: CongestionState
) -> None:
    found = uplink_states(FULL, FULL, FULL, link, link, link)

    assert found[2] is CONGESTED
    assert found[-1] is state


def test_uplink_says_why_and_which_signals_were_beyond_their_threshold() -> None:
    def point(link: Uplink) -> StatePoint:
        return followed([link.window(0)], limit=0.9).points[0]

    assert point(FULL).reason == "above in 1 of 5 windows; fixed"
    assert point(FULL_WITHOUT_QUEUES).reason == "it is full, but no workload waits; fixed"
    assert point(LOW).reason == "above in 0 of 5 windows; fixed"
    assert point(SHORT).reason == "below the reservation while wanting more: db"
    assert point(DROPPING).reason.startswith("it drops packets although it is not full")
    assert [one.signal for one in point(FULL).signals] == ["utilisation"]
    assert [one.signal for one in point(DROPPING).signals] == ["drops"]
    assert point(LOW).signals == ()


def test_fresh_detector_has_seen_nothing() -> None:
    assert DetectorState() == FRESH
    assert FRESH.below_windows == 0


def test_detector_reacts_to_three_of_five_windows_and_bridges_two_minutes_by_default() -> None:
    settings = DetectorSettings(activity_floor=0.0)

    assert (settings.enter_windows, settings.enter_of, settings.leave_windows) == (3, 5, 3)
    assert (settings.exit_ratio, settings.longest_gap_s) == (0.8, 120.0)
