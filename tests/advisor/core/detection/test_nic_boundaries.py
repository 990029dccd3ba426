"""Signals of an uplink at the exact value of each threshold: at it, and just beyond."""

from dataclasses import replace

import pytest

from advisor.core.detection.nic_signals import (
    NicEvidence,
    NicFinding,
    NicSignal,
    NicWindow,
    SignalCount,
    count_signals,
    find,
    judge_uplink,
    signal_text,
    signals_of,
)

GBIT = 1e9
QUIET = NicWindow(
    tx_bits_per_s=3 * GBIT,
    capacity_bits_per_s=10 * GBIT,
    packets=1e6,
    drops=0.0,
    backlog_bytes=0.0,
    segments=1e6,
    retransmits=0.0,
)
EMPTY = NicWindow()


def present(*windows: NicWindow) -> set[NicSignal]:
    return {one.signal for one in signals_of(windows) if one.present}


def of(signal: NicSignal, *windows: NicWindow) -> NicEvidence:
    return next(one for one in signals_of(windows) if one.signal is signal)


@pytest.mark.parametrize(
    ("signal", "at_bound", "beyond"),
    [
        (
            NicSignal.UTILISATION,
            replace(QUIET, tx_bits_per_s=9 * GBIT),
            replace(QUIET, tx_bits_per_s=9.01 * GBIT),
        ),
        # 6.25 MB are 50 Mbit, which take 5 ms at 10 Gbit/s.
        (
            NicSignal.BACKLOG,
            replace(QUIET, backlog_bytes=6.25e6),
            replace(QUIET, backlog_bytes=6.26e6),
        ),
        # 100 of 999,900 sent and 100 dropped.
        (
            NicSignal.DROPS,
            replace(QUIET, packets=999_900.0, drops=100.0),
            replace(QUIET, packets=999_800.0, drops=101.0),
        ),
        (
            NicSignal.RETRANSMITS,
            replace(QUIET, retransmits=10_000.0),
            replace(QUIET, retransmits=10_001.0),
        ),
    ],
    ids=lambda value: value.value if isinstance(value, NicSignal) else "",
)
def test_signal_is_present_beyond_its_threshold_and_not_at_it(
    signal: NicSignal, at_bound: NicWindow, beyond: NicWindow
) -> None:
    assert (present(at_bound), present(beyond)) == (set(), {signal})


def test_reservation_is_missed_in_more_than_half_of_the_windows() -> None:
    short = replace(QUIET, unmet=("db",))

    assert present(short, QUIET) == set()
    assert present(short, short, QUIET) == {NicSignal.UNMET_RESERVATION}
    assert of(NicSignal.UNMET_RESERVATION, short, QUIET).value == 0.5


def test_values_are_told_in_their_units() -> None:
    window = replace(QUIET, backlog_bytes=12.5e6, packets=900.0, drops=100.0, retransmits=5e5)

    found = {one.signal: (one.value, one.unit) for one in signals_of([window])}

    assert found == {
        NicSignal.UTILISATION: (0.3, "ratio"),
        # 12.5 MB are 100 Mbit, at 10 Gbit/s.
        NicSignal.BACKLOG: (0.01, "s"),
        # Of 1000 packets that were offered.
        NicSignal.DROPS: (0.1, "ratio"),
        NicSignal.RETRANSMITS: (0.5, "ratio"),
        NicSignal.UNMET_RESERVATION: (0.0, "ratio"),
    }


def test_several_windows_count_by_their_median_rate_and_queue_and_by_all_their_packets() -> None:
    windows = [
        replace(QUIET, tx_bits_per_s=rate * GBIT, backlog_bytes=queue, packets=sent, drops=lost)
        for rate, queue, sent, lost in (
            (1.0, 0.0, 100.0, 0.0),
            (2.0, 1.25e6, 100.0, 0.0),
            (9.0, 12.5e6, 150.0, 50.0),
        )
    ]

    assert of(NicSignal.UTILISATION, *windows).value == 0.2
    assert of(NicSignal.BACKLOG, *windows).value == 0.001
    # 50 of 350 sent and 50 dropped.
    assert of(NicSignal.DROPS, *windows).value == 0.125


@pytest.mark.parametrize(
    ("missing", "absent"),
    [
        ("tx_bits_per_s", {NicSignal.UTILISATION}),
        ("capacity_bits_per_s", {NicSignal.UTILISATION, NicSignal.BACKLOG}),
        ("packets", {NicSignal.DROPS}),
        ("drops", {NicSignal.DROPS}),
        ("backlog_bytes", {NicSignal.BACKLOG}),
        ("segments", {NicSignal.RETRANSMITS}),
        ("retransmits", {NicSignal.RETRANSMITS}),
    ],
)
def test_signal_needs_all_of_its_numbers(missing: str, absent: set[NicSignal]) -> None:
    window = NicWindow(
        **{
            name: None if name == missing else getattr(QUIET, name)
            for name in QUIET.__dataclass_fields__
        }
    )

    assert {one.signal for one in signals_of([window])} == set(NicSignal) - absent
    # A window without them does not count beside one that has them.
    both = {one.signal: one.value for one in signals_of([window, QUIET])}
    assert both == {one.signal: one.value for one in signals_of([QUIET])}


def test_no_window_has_no_signal() -> None:
    assert signals_of([]) == ()


@pytest.mark.parametrize(
    ("segments", "retransmits", "ratio"),
    [
        (0.0, 5.0, 1.0),
        (0.0, 0.5, 1.0),
        (0.0, 0.0, 0.0),
        (0.5, 5.0, 1.0),
        (10.0, 5.0, 0.5),
        (1.0, 0.5, 0.5),
    ],
    ids=["all", "all of less than one", "none", "more than all", "half", "half of one"],
)
def test_lost_fraction_lies_between_0_and_1(
    segments: float, retransmits: float, ratio: float
) -> None:
    window = replace(QUIET, segments=segments, retransmits=retransmits)

    assert of(NicSignal.RETRANSMITS, window).value == ratio


def test_somebody_may_wait_unless_told_otherwise() -> None:
    assert EMPTY.nobody_waits is False


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.01, "s", "10 ms"), (0.0123456, "s", "12.3 ms"), (0.95, "ratio", "95 %")],
)
def test_value_is_shown_in_milliseconds_or_percent(value: float, unit: str, text: str) -> None:
    assert signal_text(value, unit) == text


def drops(value: float, threshold: float) -> NicEvidence:
    return NicEvidence(
        signal=NicSignal.DROPS,
        value=value,
        threshold=threshold,
        unit="ratio",
        present=value > threshold,
    )


@pytest.mark.parametrize("thresholds", [(0.2, 0.1), (0.1, 0.2)])
def test_of_equal_values_the_one_furthest_beyond_its_threshold_is_the_worst(
    thresholds: tuple[float, float],
) -> None:
    equal = [[drops(0.3, threshold)] for threshold in thresholds]

    counts = count_signals([*equal, [drops(0.1, 0.05)]])

    assert counts == (
        SignalCount(signal=NicSignal.DROPS, windows=3, worst=0.3, threshold=0.1, unit="ratio"),
    )


def test_counts_come_in_the_order_of_the_signals() -> None:
    windows = [replace(QUIET, drops=1e6), replace(QUIET, backlog_bytes=1e9)]

    counts = count_signals(signals_of([one]) for one in windows)

    assert [one.signal for one in counts] == [NicSignal.BACKLOG, NicSignal.DROPS]


def windows(count: int, window: NicWindow = QUIET) -> list[NicWindow]:
    return [window] * count


@pytest.mark.parametrize(("count", "confidence"), [(2, 0.0), (3, 0.25), (6, 0.5), (13, 1.0)])
def test_twelve_windows_give_full_confidence_and_two_none(count: int, confidence: float) -> None:
    assert judge_uplink(windows(count)).confidence.value == confidence


def test_finding_of_too_few_windows_says_how_many_are_needed() -> None:
    judgement = judge_uplink(windows(2, replace(QUIET, unmet=("db",))))

    assert judgement.reason == "2 windows, 3 are needed"
    assert judgement.evidence == ()
    assert judgement.unmet == ("db",)


U, B, D, R, M = NicSignal


@pytest.mark.parametrize(
    ("fired", "finding", "reason"),
    [
        ({M, B, D}, NicFinding.CONGESTED, "a reservation is not met"),
        ({B, D, U}, NicFinding.CONGESTED, "packets wait"),
        ({D, R, U}, NicFinding.CONGESTED, "it is full and drops packets"),
        ({D, R}, NicFinding.BURSTS, "it drops packets although it is not full"),
        ({R, U}, NicFinding.CONGESTED, "it is full and packets are retransmitted"),
        ({R}, NicFinding.LOSS_ELSEWHERE, "packets are lost elsewhere"),
        ({U}, NicFinding.FULL, "it is full, but no workload waits"),
        (set(), NicFinding.CLEAR, "it has free capacity"),
    ],
)
def test_signal_nearest_to_a_workload_decides(
    fired: set[NicSignal], finding: NicFinding, reason: str
) -> None:
    evidence = [
        NicEvidence(signal=signal, value=1.0, threshold=0.5, unit="ratio", present=signal in fired)
        for signal in NicSignal
    ]

    found, why = find(evidence)

    assert found is finding
    assert why.startswith(reason)


def test_uplink_whose_use_is_unknown_is_not_clear() -> None:
    assert find([drops(0.0, 0.1)])[0] is NicFinding.UNKNOWN
