"""Signals of an uplink: what each combination means, and that none is believed alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core import canonical
from advisor.core.detection.nic_signals import (
    NicFinding,
    NicSignal,
    NicWindow,
    count_signals,
    judge_uplink,
    signals_of,
)

GBIT = 1e9
QUIET = {
    "tx_bits_per_s": 3 * GBIT,
    "capacity_bits_per_s": 10 * GBIT,
    "packets": 1e6,
    "drops": 0.0,
    "backlog_bytes": 0.0,
    "segments": 1e6,
    "retransmits": 0.0,
}


def windows(count=12, **changes):
    fields = {**QUIET, **changes}
    return [NicWindow(**fields)] * count


counts = st.none() | st.floats(0, 1e12)
random_windows = st.lists(
    st.builds(
        NicWindow,
        tx_bits_per_s=counts,
        capacity_bits_per_s=st.none() | st.floats(1e3, 1e12),
        packets=counts,
        drops=counts,
        backlog_bytes=counts,
        segments=counts,
        retransmits=counts,
        unmet=st.sampled_from([(), (), ("db",)]),
    ),
    max_size=8,
)


@given(random_windows, st.randoms(use_true_random=False))
def test_a_judgement_does_not_depend_on_order_and_has_no_nan(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)

    result = judge_uplink(rows)

    assert canonical.dumps(judge_uplink(shuffled)) == canonical.dumps(result)
    assert result.reason


@given(random_windows, st.floats(0.01, 1))
def test_signs_are_finite_and_beyond_their_threshold_exactly_if_present(rows, full_ratio):
    for one in signals_of(rows, full_ratio=full_ratio):
        assert math.isfinite(one.value)
        assert one.value >= 0
        assert one.present is (one.value > one.threshold)


@given(random_windows)
def test_every_sign_that_fired_is_counted_once_per_window(rows):
    evidence = [signals_of([row]) for row in rows]

    counts = count_signals(evidence)

    fired = [one.signal for signals in evidence for one in signals if one.present]
    assert {one.signal: one.windows for one in counts} == {
        signal: fired.count(signal) for signal in fired
    }
    assert all(one.worst > one.threshold for one in counts)


def test_the_worst_window_of_a_sign_is_kept():
    rows = [windows(1, drops=200.0), windows(1, drops=5000.0), windows(1)]

    (drops,) = count_signals([signals_of(row) for row in rows])

    # 5000 of 1,005,000 packets offered
    assert (drops.signal, drops.windows) == (NicSignal.DROPS, 2)
    assert drops.worst == pytest.approx(5000 / 1_005_000)


@given(random_windows)
def test_congestion_is_never_found_without_a_sign_of_waiting_or_loss(rows):
    result = judge_uplink(rows)

    present = {one.signal for one in result.evidence if one.present}
    if result.finding is NicFinding.CONGESTED:
        assert present - {NicSignal.UTILISATION}
    if result.finding is NicFinding.CLEAR:
        assert not present


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({}, NicFinding.CLEAR),
        ({"tx_bits_per_s": 9.4 * GBIT}, NicFinding.FULL),
        # 12.5 MB at 10 Gbit/s drain in 10 ms, 1.25 MB in 1 ms.
        ({"backlog_bytes": 12.5e6}, NicFinding.CONGESTED),
        ({"backlog_bytes": 1.25e6}, NicFinding.CLEAR),
        ({"tx_bits_per_s": 9.4 * GBIT, "drops": 200.0}, NicFinding.CONGESTED),
        ({"drops": 200.0}, NicFinding.BURSTS),
        ({"drops": 50.0}, NicFinding.CLEAR),
        ({"tx_bits_per_s": 9.4 * GBIT, "retransmits": 2e4}, NicFinding.CONGESTED),
        ({"retransmits": 2e4}, NicFinding.LOSS_ELSEWHERE),
        ({"unmet": ("db",)}, NicFinding.CONGESTED),
        ({"tx_bits_per_s": None}, NicFinding.UNKNOWN),
        ({"capacity_bits_per_s": None}, NicFinding.UNKNOWN),
        ({"tx_bits_per_s": None, "retransmits": 2e4}, NicFinding.LOSS_ELSEWHERE),
    ],
    ids=[
        "quiet",
        "full",
        "standing queue",
        "short queue",
        "full and dropping",
        "dropping while not full",
        "hardly dropping",
        "full and sending again",
        "sending again while not full",
        "reservation not met",
        "rate unknown",
        "capacity unknown",
        "loss is seen without the rate",
    ],
)
def test_signs_mean_something_together(changes, finding):
    assert judge_uplink(windows(**changes)).finding is finding


def test_backlog_is_told_as_the_time_it_takes_to_drain():
    evidence = signals_of(windows(1, backlog_bytes=12.5e6))

    # 12.5 MB are 100 Mbit, at 10 Gbit/s.
    (backlog,) = (one for one in evidence if one.signal is NicSignal.BACKLOG)
    assert backlog.value == pytest.approx(0.01)


def test_one_full_window_of_twelve_is_not_a_full_link():
    rows = windows(11) + windows(1, tx_bits_per_s=9.9 * GBIT)

    assert judge_uplink(rows).finding is NicFinding.CLEAR


def test_who_is_short_is_named():
    assert judge_uplink(windows(unmet=("web", "db"))).unmet == ("db", "web")


def test_confidence_falls_with_what_was_not_measured():
    all_signals = judge_uplink(windows())
    three_signals = judge_uplink(windows(segments=None, backlog_bytes=None))

    assert all_signals.confidence.value == 1.0
    assert three_signals.confidence.value == 0.6


def test_two_windows_say_nothing():
    assert judge_uplink(windows(2)).finding is NicFinding.UNKNOWN
