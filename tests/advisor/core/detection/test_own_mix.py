"""What our own load is made of decides which past windows tell what it makes by itself."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.external_workload import (
    ExternalState,
    LoadWindow,
    detect_external_load,
)
from advisor.core.detection.own_mix import OwnMix, difference, mean_mix

START = datetime(2026, 3, 2, tzinfo=UTC)
PLAIN = OwnMix(
    iops=1000.0,
    read_ratio=0.5,
    mean_io_bytes=8000.0,
    by_workload=(("a", 500.0), ("b", 500.0)),
)

amounts = st.floats(0, 1e9)
mixes = st.builds(
    OwnMix,
    iops=amounts,
    read_ratio=st.none() | st.floats(0, 1),
    mean_io_bytes=st.none() | st.floats(1, 1e9),
    by_workload=st.dictionaries(st.sampled_from("abcd"), amounts).map(
        lambda loads: tuple(sorted(loads.items()))
    ),
)


def windows(count, *, latency_ms, mix, begin=0, own_load=1000.0):
    return [
        LoadWindow(
            at=START + timedelta(minutes=begin + index),
            own_load=own_load,
            latency_ms=latency_ms,
            mix=mix,
        )
        for index in range(count)
    ]


def told(today, *, past=PLAIN, latency_ms=96.0):
    """A datastore that gives 1000 a second: 24 outstanding I/Os wait 24 ms, 96 wait 96 ms."""
    return detect_external_load(
        windows(60, latency_ms=24.0, mix=past),
        windows(12, latency_ms=latency_ms, mix=today, begin=1000),
    )


@given(mixes)
def test_a_load_is_never_another_than_itself(mix):
    assert difference(mix, mix, part=1.0) == ""


@given(mixes, st.integers(1, 5))
def test_the_mean_of_equal_windows_is_one_of_them(mix, count):
    mean = mean_mix([mix] * count)

    assert mean is not None
    assert difference(mix, mean, part=0.999) == ""
    assert mean.iops == pytest.approx(mix.iops)
    assert [name for name, _ in mean.by_workload] == [name for name, _ in mix.by_workload]


@given(st.none() | mixes, st.floats(1, 1e3))
def test_a_mix_that_never_changes_changes_no_conclusion(mix, latency_ms):
    assert told(mix, past=mix, latency_ms=latency_ms) == told(
        None, past=None, latency_ms=latency_ms
    )


def test_the_mean_counts_every_io_once():
    # 100 reads of 8000 bytes and 300 writes of 4000 bytes.
    mean = mean_mix(
        [
            OwnMix(iops=100, read_ratio=1, mean_io_bytes=8000, by_workload=(("a", 100),)),
            OwnMix(iops=300, read_ratio=0, mean_io_bytes=4000, by_workload=(("b", 280),)),
        ]
    )

    assert mean == OwnMix(
        iops=200, read_ratio=0.25, mean_io_bytes=5000, by_workload=(("a", 50), ("b", 140))
    )


def test_the_same_load_of_the_same_workloads_leaves_only_the_outside():
    assert told(PLAIN).state is ExternalState.EXTERNAL


@pytest.mark.parametrize(
    ("today", "why"),
    [
        # A full datastore gives no more to more outstanding I/Os: b has 77 of 96, so 800 a second.
        (replace(PLAIN, by_workload=(("a", 200.0), ("b", 800.0))), "less load of b"),
        (replace(PLAIN, by_workload=(("a", 300.0), ("b", 300.0), ("c", 400.0))), "load of c"),
        (replace(PLAIN, mean_io_bytes=64_000.0), "another size"),
        (replace(PLAIN, mean_io_bytes=4_000.0), "another size"),
        (replace(PLAIN, read_ratio=0.9), "share of reads"),
        (replace(PLAIN, read_ratio=0.1), "share of reads"),
    ],
    ids=["one lets loose", "a newcomer", "larger", "smaller", "more reads", "more writes"],
)
def test_another_load_of_our_own_may_explain_the_latency(today, why):
    found = told(today)

    assert found.state is ExternalState.UNKNOWN
    assert re.fullmatch(
        rf"\d+ past windows had as much load of our own, but \d+ of them had [a-zI/O ]*{why}: "
        "our own load may explain the latency",
        found.reason,
    )


@pytest.mark.parametrize(
    ("before", "why"),
    [(6.0, "less load of b"), (7.0, "")],
    ids=["a tenth of its load", "more"],
)
def test_window_without_a_known_neighbour_is_no_comparison_however_small_it_is(before, why):
    # b has 6 to 7 % of the whole: less than the fifth that may be missing.
    today = replace(PLAIN, by_workload=(("a", 940.0), ("b", 60.0)))
    past = replace(PLAIN, by_workload=(("a", 940.0), ("b", before)))

    assert difference(past, today, part=1.0) == why


def test_a_little_of_everything_is_no_other_load():
    # Rates that differ by noise: a lacks 60 of 1000.
    today = OwnMix(
        iops=1000.0,
        read_ratio=0.55,
        mean_io_bytes=9000.0,
        by_workload=(("a", 560.0), ("b", 440.0)),
    )

    assert told(today).state is ExternalState.EXTERNAL


def test_two_that_never_ran_together_are_not_explained_by_either_alone():
    alone = [
        replace(PLAIN, by_workload=(("backup", 1000.0), ("scan", 0.0))),
        replace(PLAIN, by_workload=(("backup", 0.0), ("scan", 1000.0))),
    ]
    reference = [
        window
        for place, mix in enumerate(alone)
        for window in windows(60, latency_ms=24.0, mix=mix, begin=100 * place)
    ]
    both = replace(PLAIN, by_workload=(("backup", 500.0), ("scan", 500.0)))

    found = detect_external_load(reference, windows(12, latency_ms=48.0, mix=both, begin=1000))

    assert found.state is ExternalState.UNKNOWN


def test_load_that_falls_in_proportion_leaves_only_the_outside():
    today = replace(PLAIN, by_workload=(("a", 250.0), ("b", 250.0)))

    found = detect_external_load(
        windows(60, latency_ms=24.0, mix=PLAIN),
        windows(12, latency_ms=48.0, mix=today, begin=1000, own_load=500.0),
    )

    assert found.state is ExternalState.EXTERNAL


def test_windows_whose_load_nobody_looked_at_say_nothing_of_one_that_was():
    assert told(PLAIN, past=None).state is ExternalState.UNKNOWN
