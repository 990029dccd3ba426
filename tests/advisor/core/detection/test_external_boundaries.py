"""Load from outside, at the exact value of each rule."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from advisor.core.detection.external_workload import (
    ExternalLoad,
    ExternalState,
    LoadWindow,
    detect_external_load,
    hidden_by,
)
from advisor.core.detection.own_mix import OwnMix, difference, mean_mix

START = datetime(2026, 3, 2, tzinfo=UTC)


def windows(
    count: int, latency_ms: float | None, *, load: float | None = 100.0, begin: int = 0
) -> list[LoadWindow]:
    return [
        LoadWindow(
            at=START + timedelta(minutes=begin + number), own_load=load, latency_ms=latency_ms
        )
        for number in range(count)
    ]


def found(
    *recent: tuple[int, float],
    past: int = 20,
    past_ms: float = 5.0,
    past_load: float = 100.0,
    peak: float = 0.0,
) -> ExternalLoad:
    """Recent windows as counts of latencies, at a load of 100, after so many at the past load."""
    reference = windows(past, past_ms, load=past_load) + windows(bool(peak), 50.0, load=peak)
    now: list[LoadWindow] = []
    for count, latency_ms in recent:
        now += windows(count, latency_ms, begin=1000 + len(now))
    return detect_external_load(reference, now)


def test_six_recent_windows_are_enough_and_five_are_not() -> None:
    assert found((6, 20.0)).state is ExternalState.EXTERNAL
    assert found((5, 20.0)).reason == "5 recent windows with latency, 6 are needed"


@pytest.mark.parametrize("missing", ["own_load", "latency_ms"])
def test_window_without_load_or_latency_does_not_count(missing: str) -> None:
    past, recent = windows(12, 5.0), windows(6, 20.0, begin=1000)
    assert detect_external_load(past, recent).state is ExternalState.EXTERNAL

    without_one = [replace(recent[0], **{missing: None}), *recent[1:]]
    assert "5 recent windows" in detect_external_load(past, without_one).reason
    past = [replace(past[0], **{missing: None}), *past[1:]]
    assert "11 past windows" in detect_external_load(past, recent).reason


def test_twelve_comparable_windows_are_enough_and_eleven_are_not() -> None:
    assert found((6, 20.0), past=12).state is ExternalState.EXTERNAL
    result = found((6, 20.0), past=11)

    assert result.state is ExternalState.UNKNOWN
    assert result.reason == (
        "11 past windows had as much load of our own, 12 are needed: "
        "our own load may explain the latency"
    )
    assert (result.confidence.value, result.comparable_windows) == (0.0, 0)


@pytest.mark.parametrize(("load", "is_comparable"), [(80.0, True), (79.0, False)])
def test_far_from_the_peak_four_fifths_of_the_load_are_as_much(
    load: float, is_comparable: bool
) -> None:
    result = found((6, 20.0), past_load=load, peak=1000.0)

    assert (result.state is ExternalState.EXTERNAL) is is_comparable


@pytest.mark.parametrize(
    ("peak", "is_comparable"),
    # 100 is 0.7 of 142.86: above that fraction of the peak, 90 is not as much.
    [(142.0, False), (143.0, True)],
)
def test_near_the_peak_only_the_whole_load_is_as_much(peak: float, is_comparable: bool) -> None:
    result = found((6, 20.0), past_load=90.0, peak=peak)

    assert (result.state is ExternalState.EXTERNAL) is is_comparable


def test_load_at_exactly_seven_tenths_of_the_peak_is_far_from_it() -> None:
    reference = windows(20, 5.0, load=60.0) + windows(1, 50.0, load=100.0)

    result = detect_external_load(reference, windows(6, 20.0, load=70.0, begin=1000))

    assert result.state is ExternalState.EXTERNAL


@pytest.mark.parametrize(
    ("latency_ms", "state"), [(7.5, ExternalState.EXTERNAL), (7.4, ExternalState.NONE)]
)
def test_latency_half_as_high_again_as_normal_is_external(
    latency_ms: float, state: ExternalState
) -> None:
    result = found((12, latency_ms))

    assert result.state is state
    assert (result.began_at is None) is (state is ExternalState.NONE)
    assert (result.normal_ms, result.recent_ms, result.own_load) == (5.0, latency_ms, 100.0)


@pytest.mark.parametrize(
    ("latency_ms", "state"),
    # A steady 5 ms has a spread of 0.5 ms: six windows of 7.5 ms sum up to 6 · (5 - 0.5).
    # In a past of 5 ms with a spread of 2 · 0.5 the alarm would come too, but at a later window.
    [(7.5, ExternalState.EXTERNAL)],
)
def test_steady_past_has_a_spread_of_a_tenth(latency_ms: float, state: ExternalState) -> None:
    # 6 ms count (6 - 5) / 0.5 - 0.5 = 1.5 each: the fourth passes 5, and it began with the first.
    result = found((4, 6.0), (8, latency_ms))

    assert result.state is state
    assert result.began_at == START + timedelta(minutes=1000)


def test_little_above_a_steady_past_begins_nothing() -> None:
    # (5.2 - 5) / 0.5 = 0.4 spreads are drift: it began with the fifth window.
    assert found((4, 5.2), (8, 20.0)).began_at == START + timedelta(minutes=1004)


def test_what_was_high_and_is_normal_again_is_not_external() -> None:
    # The sum passes the alarm in the first windows, but most recent ones are at 5 ms.
    result = found((3, 20.0), (9, 5.0))

    assert result.state is ExternalState.NONE
    assert result.recent_ms == 5.0


def test_normal_of_0_has_no_external_load() -> None:
    assert found((6, 20.0), past_ms=0.0).state is ExternalState.NONE


@pytest.mark.parametrize(("past", "confidence"), [(30, 0.5), (60, 1.0), (90, 1.0)])
def test_sixty_comparable_windows_give_full_confidence(past: int, confidence: float) -> None:
    result = found((6, 20.0), past=past)

    assert result.comparable_windows == past
    assert result.confidence.value == confidence


def test_confidence_is_at_most_the_part_of_windows_that_agree() -> None:
    # Above from the first window on; of twelve, nine are at 1.5 times 5 ms or more.
    external = found((3, 20.0), (3, 7.4), (6, 7.5), past=60)
    # Of ten windows without external load, one is that high.
    none = found((9, 5.0), (1, 7.5), past=60)

    assert external.state is ExternalState.EXTERNAL
    assert external.confidence.value == 0.75
    assert (none.state, none.confidence.value) == (ExternalState.NONE, 0.9)


def test_load_that_was_not_looked_at_hides_the_cause() -> None:
    result = hidden_by("host h1 is silent")

    assert result.state is ExternalState.UNKNOWN
    assert result.reason == "host h1 is silent: unseen load of our own may explain the latency"


TODAY = OwnMix(
    iops=100.0, read_ratio=0.5, mean_io_bytes=8000.0, by_workload=(("a", 60.0), ("b", 40.0))
)


@pytest.mark.parametrize(
    ("size", "is_other"), [(10_000.0, False), (10_001.0, True), (6400.0, False), (6399.0, True)]
)
def test_ios_of_four_fifths_to_five_quarters_of_the_size_are_alike(
    size: float, is_other: bool
) -> None:
    past = replace(TODAY, mean_io_bytes=size)

    assert difference(past, TODAY, part=1.0) == ("I/Os of another size" if is_other else "")


@pytest.mark.parametrize(
    ("reads", "is_other"), [(0.6, False), (0.61, True), (0.4, False), (0.39, True)]
)
def test_shares_of_reads_may_differ_by_a_tenth(reads: float, is_other: bool) -> None:
    # 0.6 - 0.5 is a little less than 0.1, and 0.5 - 0.4 likewise.
    past = replace(TODAY, read_ratio=reads)

    assert difference(past, TODAY, part=1.0) == ("another share of reads" if is_other else "")


def test_read_share_at_exactly_a_tenth_is_alike() -> None:
    past, today = (replace(TODAY, read_ratio=ratio) for ratio in (0.0, 0.1))

    assert difference(past, today, part=1.0) == ""


@pytest.mark.parametrize("unknown", ["read_ratio", "mean_io_bytes"])
def test_what_is_unknown_in_the_past_differs_and_what_is_unknown_today_does_not(
    unknown: str,
) -> None:
    without = replace(TODAY, **{unknown: None})

    assert difference(without, TODAY, part=1.0) != ""
    assert difference(TODAY, without, part=1.0) == ""


def less(*lacks: float) -> str:
    """How a past differs that lacks so much of each of the loads of 50, of 200 in all."""
    today = tuple((name, 50.0) for name in "abcd")
    past = tuple((name, 50.0 - lack) for (name, _), lack in zip(today, lacks, strict=True))
    return difference(
        replace(TODAY, by_workload=past), replace(TODAY, by_workload=today), part=1.0
    )


def test_a_fifth_of_the_load_may_be_missing() -> None:
    assert less(40.0, 0.0, 0.0, 0.0) == ""
    assert less(41.0, 0.0, 0.0, 0.0) == "less load of a"


def test_lack_of_a_twentieth_of_the_whole_does_not_count() -> None:
    # 10 of 200 is a twentieth: 39 + 10 counts as 39, but 39 + 11 as 50, above a fifth.
    assert less(39.0, 10.0, 0.0, 0.0) == ""
    assert less(11.0, 39.0, 0.0, 0.0) == "less load of b"


def test_more_of_one_workload_does_not_make_up_for_another() -> None:
    assert less(50.0, -50.0, 0.0, 0.0) == "less load of a"


def test_missing_load_is_that_of_the_comparable_part() -> None:
    past = replace(TODAY, by_workload=(("a", 30.0), ("b", 32.0)))

    # 0.8 · 60 - 30 = 18 of 100 is less than a fifth; of the whole load it is 30.
    assert difference(past, TODAY, part=0.8) == ""
    assert difference(past, TODAY, part=1.0) == "less load of a"


def test_mean_of_no_windows_is_none_and_of_windows_without_ios_has_no_ratio() -> None:
    idle = OwnMix(iops=0.0, read_ratio=0.5, mean_io_bytes=8000.0)

    assert mean_mix([]) is None
    assert mean_mix([idle]) == OwnMix(iops=0.0, read_ratio=None, mean_io_bytes=None)


def test_latency_without_any_load_of_our_own_comes_from_outside() -> None:
    recent = windows(6, 20.0, load=0.0, begin=1000)

    result = detect_external_load(windows(20, 5.0, load=0.0), recent)

    assert (result.state, result.own_load) == (ExternalState.EXTERNAL, 0.0)
    assert (result.normal_ms, result.recent_ms) == (5.0, 20.0)
