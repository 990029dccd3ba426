"""Attribution: invariants, known aggressors over many seeds, the innocent, and thin evidence."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core import canonical
from advisor.core.attribution.attribution import Attribution, AttributionInputs, attribute
from advisor.core.attribution.measure import DEVICE_TIME
from advisor.core.attribution.workload_series import WorkloadSeries
from tests.advisor.core.attribution.mixes import LARGE, closed_loop_mix, open_loop_mix

SEEDS = range(30)
WINDOWS = 24
columns = st.lists(st.none() | st.floats(0, 1e6), min_size=WINDOWS, max_size=WINDOWS).map(tuple)
inputs = st.builds(
    AttributionInputs,
    series=st.lists(
        st.builds(
            WorkloadSeries,
            workload=st.sampled_from("abcdef"),
            load=columns,
            harm=st.none() | columns,
            entitlement=st.floats(0, 4000),
        ),
        max_size=4,
        unique_by=lambda one: one.workload,
    ).map(tuple),
    in_incident=st.lists(st.booleans(), min_size=WINDOWS, max_size=WINDOWS).map(tuple),
    window_s=st.just(10.0),
    shared_harm=st.none() | columns,
)


@given(inputs)
def test_parts_are_parts_and_no_number_is_nan(given_inputs):
    result = attribute(given_inputs)

    assert sum(one.part_ratio for one in result.suspects) == pytest.approx(1) or not any(
        one.part_ratio for one in result.suspects
    )
    assert all(0 <= one.score <= one.part_ratio * (1 + 1e-8) for one in result.suspects)
    assert list(result.aggressors) == [one.workload for one in result.suspects if one.is_aggressor]
    assert result.reason
    canonical.dumps(result)  # Refuses NaN and infinity.


@given(inputs, st.randoms(use_true_random=False))
def test_attribution_does_not_depend_on_the_order_of_workloads(given_inputs, random):
    shuffled = list(given_inputs.series)
    random.shuffle(shuffled)

    assert attribute(replace(given_inputs, series=tuple(shuffled))) == attribute(given_inputs)


@given(inputs, st.integers(-8, 8))
def test_attribution_does_not_depend_on_the_unit_of_load(given_inputs, octaves):
    scaled = tuple(
        replace(
            one, load=tuple(None if value is None else value * 2.0**octaves for value in one.load)
        )
        for one in given_inputs.series
    )

    assert (
        attribute(replace(given_inputs, series=scaled)).aggressors
        == attribute(given_inputs).aggressors
    )


def test_recomputing_from_the_stored_inputs_gives_the_same_bytes():
    stored = canonical.dumps(closed_loop_mix(1, aggressor=2))

    first = canonical.dumps(attribute(canonical.loads(AttributionInputs, stored)))
    again = canonical.dumps(attribute(canonical.loads(AttributionInputs, stored)))

    assert first == again
    assert canonical.dumps(canonical.loads(Attribution, first)) == first
    assert json.loads(first)["aggressors"] == ["w2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mix",
    [
        lambda seed: closed_loop_mix(seed, aggressor=3),
        lambda seed: closed_loop_mix(seed, aggressor=3, burst=12),
        lambda seed: closed_loop_mix(seed, aggressor=3, burst=8, size=4 * LARGE),
        lambda seed: closed_loop_mix(seed, aggressor=3, giant=0, burst=60),
        lambda seed: closed_loop_mix(seed, aggressor=3, workloads=20),
        lambda seed: open_loop_mix(seed, aggressor=3),
    ],
    ids=["burst", "weak burst", "few large I/Os", "beside a giant", "of twenty", "open loop"],
)
def test_the_known_aggressor_comes_first_in_nine_of_ten_mixes(mix):
    found = [attribute(mix(seed)) for seed in SEEDS]

    first = sum(one.aggressors[:1] == ("w3",) for one in found)
    assert first >= 0.9 * len(SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mix",
    [
        closed_loop_mix,
        lambda seed: closed_loop_mix(seed, workloads=2),
        lambda seed: open_loop_mix(seed, workloads=20),
    ],
    ids=["closed loop", "two workloads", "open loop of twenty"],
)
def test_even_demand_has_no_aggressor(mix):
    blamed = sum(bool(attribute(mix(seed)).aggressors) for seed in SEEDS)

    assert blamed <= 0.05 * len(SEEDS)


def test_even_demand_says_so():
    result = attribute(open_loop_mix(1))

    assert result.reason.startswith("demand is even: the first suspect, ")


def test_few_large_ios_count_by_the_device_time_they_take():
    # Of the I/O in service 8 of 18 is its own, though at 512 kB an I/O takes (51 + 512) / 59
    # = 9.5 times as long as one of 8 kB: counted in I/Os it would be only 0.84 of 10.84.
    result = attribute(closed_loop_mix(1, aggressor=3, burst=8, size=4 * LARGE))

    assert result.suspects[0].part_ratio == pytest.approx(8 / 18, abs=0.03)


def test_a_steady_giant_is_innocent():
    mix = closed_loop_mix(1, aggressor=3, giant=0, burst=60)

    suspects = {one.workload: one for one in attribute(mix).suspects}

    assert suspects["w0"].part_ratio > suspects["w0"].fair_ratio
    assert not suspects["w0"].is_aggressor


def test_what_a_workload_is_entitled_to_is_not_held_against_it():
    mix = closed_loop_mix(1, aggressor=3)
    # Its shares are 95 of 100: four fifths of the device time are less than its part.
    entitled = tuple(
        replace(one, entitlement=95.0 if one.workload == "w3" else 1.0) for one in mix.series
    )

    result = attribute(replace(mix, series=entitled))

    assert result.aggressors == ()
    assert "w3" in result.reason


def test_two_aggressors_are_both_named():
    mix = closed_loop_mix(2, aggressor=3)
    twin = next(one for one in mix.series if one.workload == "w3")
    series = (*mix.series, replace(twin, workload="twin", harm=None))

    assert set(attribute(replace(mix, series=series)).aggressors) == {"w3", "twin"}


@pytest.mark.slow
def test_two_aggressors_at_their_own_times_are_both_named_in_nine_of_ten_mixes():
    # Either gets half of a busy device while both are on, so latency hardly follows the load.
    found = [attribute(closed_loop_mix(seed, aggressor=3, second=4)) for seed in SEEDS]

    both = sum(set(one.aggressors) == {"w3", "w4"} for one in found)
    assert both >= 0.9 * len(SEEDS)


def test_the_answer_is_about_the_aggressor_not_about_an_entitled_giant():
    # The giant takes most of the device and may: its shares are 20 of 25.
    mix = closed_loop_mix(1, aggressor=3, giant=0, burst=15)
    entitled = tuple(
        replace(one, entitlement=20.0 if one.workload == "w0" else 1.0) for one in mix.series
    )

    result = attribute(replace(mix, series=entitled))

    assert result.aggressors == ("w3",)
    assert result.suspects[0].workload == "w3"
    assert result.reason.startswith("w3 took")
    assert all("w0" not in part.how for part in result.confidence.parts)


def test_victims_lost_the_time_above_their_own_normal():
    # Normal 1 to 2 ms in 20 windows; 10 of 15 incident windows at 9 ms, 5 at 1 ms: 100 s lost.
    normal = [1.0, 2.0] * 10
    harm = (*normal, *[9.0] * 10, *[1.0] * 5)
    series = (
        WorkloadSeries(workload="victim", load=(1.0,) * 35, harm=harm),
        WorkloadSeries(workload="other", load=(1.0,) * 35),
    )

    result = attribute(
        AttributionInputs(
            series=series,
            in_incident=(False,) * 20 + (True,) * 15,
            window_s=10.0,
            measure=DEVICE_TIME,
        )
    )

    (victim,) = result.victims
    assert (victim.normal, victim.during, victim.lost_s) == (1.5, 9.0, 100.0)


def test_a_clear_case_rests_on_windows_agreement_and_comparison():
    result = attribute(closed_loop_mix(1, aggressor=3))

    grounds = {part.name: part.value for part in result.confidence.parts}
    assert set(grounds) == {"windows", "agreement", "on and off"}
    assert result.confidence.value == min(grounds.values()) > 0.9


def test_without_a_comparison_confidence_is_at_most_half():
    mix = closed_loop_mix(1, aggressor=3, windows=240)
    # From the first window with the aggressor on to the last: what is left has one switch.
    load = next(one.load for one in mix.series if one.workload == "w3")
    on = [index for index, value in enumerate(load) if value > 1000]
    stop = next(index for index in range(on[0], 240) if index not in on)
    cut = tuple(replace(one, load=one.load[:stop], harm=one.harm[:stop]) for one in mix.series)

    result = attribute(replace(mix, series=cut, in_incident=mix.in_incident[:stop]))

    assert result.confidence.value <= 0.5


def test_shared_latency_stands_in_where_workloads_have_none():
    mix = closed_loop_mix(1, aggressor=3)
    shared = next(one.harm for one in mix.series if one.workload == "w0")
    bare = tuple(replace(one, harm=None) for one in mix.series)

    result = attribute(replace(mix, series=bare, shared_harm=shared))

    assert result.aggressors == ("w3",)
    assert result.victims == ()


def on_and_off(slow_off_windows, equal_off_windows=0):
    """A burst in every second of 32 windows, as the incident, beside a victim with steady load.

    The victim has 10 ms while it is on. While it is off, it has 20 ms in the last of the 16
    windows, as many as given, 10 ms in as many before them, and 5 ms in the others.
    """
    fast_off_windows = 16 - slow_off_windows - equal_off_windows
    off_ms = [5.0] * fast_off_windows + [10.0] * equal_off_windows + [20.0] * slow_off_windows
    harm = tuple(value for slow in off_ms for value in (10.0, slow))
    return AttributionInputs(
        series=(
            WorkloadSeries(workload="burst", load=(30.0, 0.0) * 16),
            WorkloadSeries(workload="victim", load=(10.0,) * 32, harm=harm),
        ),
        in_incident=(True, False) * 16,
        window_s=10.0,
        measure=DEVICE_TIME,
    )


def test_score_is_the_part_times_the_on_off_correlation_where_that_is_clear():
    burst = attribute(on_and_off(4)).suspects[0]

    # 12 of 16 off windows are better than each on window: 2 · 0.75 - 1 = 0.5. The ranks of
    # 12 windows at 5 ms are 10 below the middle, of 16 at 10 ms 4 above, of 4 at 20 ms 14 above:
    # 8 · (16 · 4 + 12 · 10 - 4 · 14) / √(32 · 8² · 2240) = 0.478, which is less.
    assert burst.experiment is not None
    assert burst.experiment.superiority == 0.75
    assert burst.dependence is not None
    assert burst.dependence.correlation == pytest.approx(0.478, abs=0.001)
    # Its part in the incident is 30 of 40.
    assert burst.score == pytest.approx(0.75 * 0.5)


def test_score_is_the_part_times_the_rank_correlation_where_on_and_off_hardly_differ():
    result = attribute(on_and_off(6))
    burst = next(one for one in result.suspects if one.workload == "burst")

    # 10 of 16 off windows are better: 2 · 0.625 - 1 = 0.25, too little for 32 windows. The ranks
    # are 11 below the middle, 2 and 13 above it:
    # 8 · (16 · 2 + 10 · 11 - 6 · 13) / √(32 · 8² · 2288) = 0.2365.
    assert burst.experiment is not None
    assert burst.experiment.shift_low <= 0
    assert burst.score == pytest.approx(0.75 * 0.2365, abs=0.0001)
    assert not burst.is_aggressor


def test_comparison_alone_makes_an_aggressor_and_says_so():
    burst = attribute(on_and_off(5)).suspects[0]

    # The rank correlation lies between the two above, about 0.36: too little for 32 windows.
    assert burst.dependence is not None
    assert burst.dependence.low <= 0
    assert burst.is_aggressor
    # 11 of 16 off windows are better than each on window.
    assert "; the others are worse while it is active, in 69% of on/off comparisons; " in (
        burst.reason
    )


def test_comparison_whose_interval_begins_at_no_harm_makes_no_aggressor():
    result = attribute(on_and_off(4, 2))
    burst = next(one for one in result.suspects if one.workload == "burst")

    # A quarter of the differences is below 0 and an eighth is 0, where the interval begins.
    assert burst.experiment is not None
    assert (burst.experiment.shift_low, burst.experiment.superiority) == (0.0, 0.6875)
    assert not burst.is_aggressor


def test_load_that_latency_follows_is_an_aggressor_without_a_comparison():
    # From 20 to 35 in steps that jump, 27.5 on average: never off, so nothing to compare.
    load = tuple(20.0 + 7 * window % 16 for window in range(32))
    series = (
        WorkloadSeries(workload="busy", load=load),
        WorkloadSeries(workload="victim", load=(10.0,) * 32, harm=tuple(one / 4 for one in load)),
    )

    result = attribute(
        AttributionInputs(
            series=series, in_incident=(True,) * 32, window_s=10.0, measure=DEVICE_TIME
        )
    )

    busy = result.suspects[0]
    assert result.aggressors == ("busy",)
    assert (busy.experiment, busy.experiment_gap) == (None, "its load hardly changed")
    # 27.5 of 37.5 are 73 %.
    assert busy.reason == (
        "took 73% of device time, its fair share is 50%; "
        "the others' latency follows its load: correlation 1.00 (1.00 to 1.00)"
    )


@pytest.mark.parametrize(
    ("series", "in_incident", "reason"),
    [
        ((), (True,) * 20, "fewer than two workloads were active"),
        (("a", "b"), (False,) * 20, "no window is in the incident"),
        (("a",), (True,) * 20, "fewer than two workloads were active"),
        (("a", "b"), (True,) * 20, "too few windows or too little variation"),
    ],
    ids=["nobody", "no incident", "alone", "nothing varied"],
)
def test_nobody_is_blamed_without_evidence(series, in_incident, reason):
    rows = tuple(
        WorkloadSeries(workload=name, load=(1.0,) * 20, harm=(5.0,) * 20) for name in series
    )

    result = attribute(
        AttributionInputs(series=rows, in_incident=in_incident, window_s=10.0, measure=DEVICE_TIME)
    )

    assert result.aggressors == ()
    assert result.reason.startswith(reason)
    assert result.confidence.value < 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 1e200])
@pytest.mark.parametrize("column", ["load", "harm"])
def test_an_impossible_number_is_refused_with_its_place(column, value):
    given = {"load": (1.0, 1.0), "harm": (1.0, 1.0), column: (1.0, value)}

    with pytest.raises(ValueError, match=rf"^{column} 1 of db is "):
        WorkloadSeries(workload="db", **given)


@pytest.mark.parametrize(
    ("series", "complaint"),
    [
        ([("a", 3), ("a", 3)], 'workload "a" is given twice'),
        ([("a", 2)], 'workload "a": not a value for each of 3'),
    ],
    ids=["twice", "too short"],
)
def test_series_that_do_not_fit_together_are_refused(series, complaint):
    rows = tuple(WorkloadSeries(workload=name, load=(1.0,) * n) for name, n in series)

    with pytest.raises(ValueError, match=f"^{complaint}"):
        AttributionInputs(series=rows, in_incident=(True,) * 3, window_s=10.0, measure=DEVICE_TIME)
