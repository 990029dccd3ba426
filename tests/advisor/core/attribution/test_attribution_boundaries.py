"""Attribution at the exact value of each rule: how much is too much, how sure, and from when."""

from dataclasses import replace

import numpy as np
import pytest

from advisor.core.attribution.attribution import Attribution, AttributionInputs, Suspect, attribute
from advisor.core.attribution.measure import DEVICE_TIME, SENT, Measure
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.standing import UNALLOCATED

WINDOWS = 32
Loads = tuple[float, ...]
# From 20 to 35 in steps that jump, 27.5 on average, never off: nothing to compare.
JUMPING: Loads = tuple(20.0 + 7 * window % 16 for window in range(WINDOWS))
STEADY_MS: Loads = (5.0,) * WINDOWS


def judged(
    *series: WorkloadSeries, measure: Measure = DEVICE_TIME, in_incident: int | None = None
) -> Attribution:
    """Everything is in the incident, or so many of the last windows."""
    windows = len(series[0].load)
    inside = windows if in_incident is None else in_incident
    return attribute(
        AttributionInputs(
            series=series,
            in_incident=(False,) * (windows - inside) + (True,) * inside,
            window_s=10.0,
            measure=measure,
        )
    )


def busy(load: Loads = JUMPING, *, entitlement: float = 1.0) -> WorkloadSeries:
    return WorkloadSeries(workload="busy", load=load, entitlement=entitlement)


def victim(
    load: float, harm: Loads = JUMPING, *, name: str = "victim", entitlement: float = 1.0
) -> WorkloadSeries:
    """A workload with steady load, whose latency follows the busy one unless said otherwise."""
    return WorkloadSeries(
        workload=name, load=(load,) * len(harm), harm=harm, entitlement=entitlement
    )


def of(result: Attribution, name: str) -> Suspect:
    return next(one for one in result.suspects if one.workload == name)


def ground(result: Attribution, name: str) -> float:
    return next(part.value for part in result.confidence.parts if part.name == name)


@pytest.mark.parametrize(
    ("load", "is_aggressor"),
    # 27.5 of 27.5 + 16.5 are 5 of 8, which is 1.25 times the half that is its fair share.
    [(16.5, True), (16.6, False)],
)
def test_aggressor_takes_at_least_a_quarter_more_than_its_share(
    load: float, is_aggressor: bool
) -> None:
    result = judged(busy(), victim(load))

    assert (result.aggressors == ("busy",)) is is_aggressor
    assert ("; not an aggressor, although the others' latency" in of(result, "busy").reason) is (
        not is_aggressor
    )


@pytest.mark.parametrize(
    ("load", "is_aggressor"),
    # It is entitled to nothing and takes 27.5 of 20 · 27.5, which is 0.05, or a little less.
    [(19 * 27.5, True), (19 * 27.6, False)],
)
def test_aggressor_takes_at_least_a_twentieth_of_the_device_beyond_its_share(
    load: float, is_aggressor: bool
) -> None:
    result = judged(busy(entitlement=0.0), victim(load))

    assert of(result, "busy").fair_ratio == 0.0
    assert (result.aggressors == ("busy",)) is is_aggressor


def test_share_beyond_the_fair_one_counts_by_its_difference() -> None:
    # Its part is 27.5 of 137.5, a fifth; fair is 1 of 6. 0.2 is 1.2 times 1/6, below 1.25.
    assert judged(busy(), victim(110.0, entitlement=5.0)).aggressors == ()
    # Fair is 1 of 8: 1.6 times as much, 0.075 more.
    assert judged(busy(), victim(110.0, entitlement=7.0)).aggressors == ("busy",)


def test_one_workload_alone_is_no_aggressor_whatever_the_shared_latency_does() -> None:
    result = attribute(
        AttributionInputs(
            series=(busy(entitlement=0.0),),
            in_incident=(True,) * WINDOWS,
            window_s=10.0,
            measure=DEVICE_TIME,
            shared_harm=JUMPING,
        )
    )

    assert result.aggressors == ()
    assert result.reason == "fewer than two workloads were active, so none can harm another"


def test_idle_workload_has_no_share_and_makes_nobody_elses_smaller() -> None:
    idle = WorkloadSeries(workload="idle", load=(0.0,) * WINDOWS, entitlement=2.0)

    result = judged(busy(), victim(10.0), idle)

    assert of(result, "idle").fair_ratio == 0.0
    assert of(result, "busy").fair_ratio == 0.5


def test_entitlement_of_a_workload_without_one_is_1() -> None:
    plain = WorkloadSeries(workload="plain", load=JUMPING)

    assert of(judged(plain, victim(10.0, entitlement=3.0)), "plain").fair_ratio == 0.25


def test_workloads_that_are_all_entitled_to_nothing_have_no_fair_share() -> None:
    result = judged(busy(entitlement=0.0), victim(10.0, entitlement=0.0))

    assert [one.fair_ratio for one in result.suspects] == [0.0, 0.0]


def test_latency_that_falls_as_the_load_rises_gives_no_score() -> None:
    rising = tuple(20.0 + window / 2 for window in range(WINDOWS))
    falling = tuple(60.0 - one for one in rising)

    suspect = of(judged(busy(rising), victim(10.0, falling)), "busy")

    assert suspect.dependence is not None
    assert suspect.dependence.correlation == pytest.approx(-1.0)
    assert suspect.score == 0.0
    assert "; the others' latency does not follow its load: correlation -1.00" in suspect.reason


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_harm_that_comes_some_windows_later_is_found_and_compared_at_that_lag(lag: int) -> None:
    # On and off at uneven times; the victim has 10 ms while the load of `lag` ago is on.
    rng = np.random.default_rng(4)
    load = tuple(float(one) for one in rng.choice([0.0, 30.0], size=60))
    harm = (5.0,) * lag + tuple(10.0 if one else 5.0 for one in load)[: 60 - lag]

    result = judged(busy(load), victim(5.0, harm))

    suspect = result.suspects[0]
    assert (suspect.workload, suspect.is_aggressor) == ("busy", True)
    assert suspect.dependence is not None
    assert suspect.dependence.lag_windows == lag
    assert suspect.experiment is not None
    assert (suspect.experiment.superiority, suspect.experiment.shift) == (1.0, 5.0)
    assert suspect.experiment.on_windows == sum(one > 0 for one in load[: 60 - lag])
    assert [part.value for part in result.confidence.parts][1:] == [1.0, 1.0]


def test_evidence_is_as_sure_as_its_independent_windows() -> None:
    # Neighbours are unlike, so each of the 15 windows counts: half of the 30 that are plenty.
    load = tuple(20.0 + 7 * window % 16 for window in range(15))

    result = judged(busy(load), victim(5.0, load))

    assert result.aggressors == ("busy",)
    assert ground(result, "windows") == 0.5
    assert result.confidence.parts[0].how == (
        "equal to 15 independent windows, 30 give full confidence"
    )


def test_comparison_that_is_missing_halves_the_confidence() -> None:
    result = judged(busy(), victim(5.0))

    assert ground(result, "on and off") == 0.5
    assert result.confidence.parts[-1].how == "no on/off comparison: its load hardly changed"


def test_comparison_that_shows_no_harm_leaves_a_quarter_of_the_confidence() -> None:
    # Off in 10 of 50 windows with 5 ms, as in the middle of 3 ms at half load and 8 ms at all.
    kinds = [(0.0, 5.0)] * 10 + [(60.0, 3.0)] * 20 + [(100.0, 8.0)] * 20
    np.random.default_rng(3).shuffle(kinds)
    load, harm = (tuple(column) for column in zip(*kinds, strict=True))

    result = judged(busy(load), victim(5.0, harm))

    first = result.suspects[0]
    assert first.is_aggressor
    assert first.experiment is not None
    assert first.experiment.shift_low <= 0
    assert ground(result, "on and off") == 0.25
    assert result.confidence.parts[-1].how == "the others are not worse while busy is active"


def test_comparison_is_told_with_its_interval_and_unit() -> None:
    load = (30.0, 0.0) * 16
    harm = (10.0, 5.0) * 16

    result = judged(busy(load), victim(5.0, harm))

    assert ground(result, "on and off") == 1.0
    assert result.confidence.parts[-1].how == (
        "the others are worse by 5 (5 to 5) ms while busy is active; "
        "probability that such a window is worse"
    )


def test_without_a_cause_confidence_is_that_of_the_least_known_active_workload() -> None:
    # The harm jumps in another order than the loads. Of `new` only 15 windows are known, and
    # nothing of the idle one, which can be no cause.
    other_order, another = (
        tuple(float(one) for one in np.random.default_rng(seed).permutation(JUMPING))
        for seed in (2, 4)
    )
    result = judged(
        WorkloadSeries(workload="busy", load=JUMPING, harm=other_order),
        WorkloadSeries(workload="new", load=(None,) * 17 + JUMPING[:15], harm=another),
        WorkloadSeries(workload="idle", load=(0.0,) * WINDOWS),
    )

    assert result.aggressors == ()
    assert of(result, "idle").dependence is None
    # 15 windows of the 30 that give full confidence.
    assert [part.name for part in result.confidence.parts] == ["windows"]
    assert result.confidence.value == 0.5


def test_demand_is_even_below_a_quarter_more_than_the_share_and_not_from_there_on() -> None:
    steady = tuple(reversed(JUMPING))
    at_bound = judged(busy(), victim(16.5, steady))
    below = judged(busy(), victim(16.6, steady))

    assert (at_bound.aggressors, below.aggressors) == ((), ())
    said = "the first suspect, busy, took 62%"
    assert at_bound.reason.startswith(f"no cause identified: {said}")
    assert below.reason.startswith(f"demand is even: {said}")


def test_without_a_cause_the_sentence_speaks_of_the_first_suspect() -> None:
    load = tuple(reversed(JUMPING))
    twin = WorkloadSeries(workload="twin", load=JUMPING, harm=load)

    found = judged(busy(), twin)

    assert found.aggressors == ()
    assert found.suspects[0].workload == "busy"
    assert "the first suspect, busy, took 50%" in found.reason


def test_one_that_takes_too_much_comes_before_one_that_others_follow() -> None:
    """Others follow the small load, of a fifth, and not the large one, of half."""
    unsteady = tuple(1.0 + step % 2 / 60 for step in range(WINDOWS))

    found = judged(
        WorkloadSeries(workload="small", load=JUMPING),
        WorkloadSeries(workload="large", load=tuple(60 * one for one in unsteady), harm=JUMPING),
        WorkloadSeries(workload="third", load=tuple(40 * one for one in unsteady), harm=JUMPING),
    )

    assert of(found, "small").score > of(found, "large").score
    assert found.reason.startswith("no cause identified: the first suspect, large, took")
    assert found.suspects[0].workload == "large"


def test_traffic_without_an_allocation_is_called_as_in_tables() -> None:
    rest = replace(busy(), workload=UNALLOCATED)

    found = judged(rest, victim(1.0))

    assert found.aggressors == (UNALLOCATED,)
    assert found.reason.startswith("other traffic took")
    assert UNALLOCATED not in found.confidence.parts[-1].how


def test_suspects_come_with_aggressors_first_then_by_score_then_by_part() -> None:
    steady = [victim(load, name=name) for name, load in (("a", 1.0), ("b", 3.0), ("c", 2.0))]

    result = judged(busy(), *steady)

    assert [one.workload for one in result.suspects] == ["busy", "b", "c", "a"]


def test_windows_before_the_incident_count_for_evidence_but_not_for_parts() -> None:
    # In the 16 windows of the incident the victim has a quarter of the device.
    load = JUMPING
    series = WorkloadSeries(workload="victim", load=(0.0,) * 16 + (10.0,) * 16, harm=JUMPING)

    result = judged(busy(load), series, in_incident=16)

    assert of(result, "busy").part_ratio == pytest.approx(sum(load[16:]) / (sum(load[16:]) + 160))


@pytest.mark.parametrize("column", ["load", "harm", "shared_harm"])
@pytest.mark.parametrize("length", [2, 4])
def test_column_of_another_length_is_refused(column: str, length: int) -> None:
    columns = {"load": (1.0,) * 3, "harm": (1.0,) * 3, "shared_harm": (1.0,) * 3}
    columns[column] = (1.0,) * length
    series = WorkloadSeries

    with pytest.raises(ValueError, match="not a value for each of 3"):
        AttributionInputs(
            series=(series(workload="a", load=columns["load"], harm=columns["harm"]),),
            in_incident=(True,) * 3,
            window_s=10.0,
            measure=DEVICE_TIME,
            shared_harm=columns["shared_harm"],
        )


def test_window_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^window_s is "):
        AttributionInputs(series=(), in_incident=(), window_s=0.0, measure=DEVICE_TIME)


def test_measures_tell_harm_in_their_own_unit() -> None:
    assert DEVICE_TIME.told(43.26, 40.1, 46.0) == "43.3 (40.1 to 46) ms"
    assert DEVICE_TIME.shifted(2.5) == "+2.5 ms for others"
    assert SENT.told(0.3, 0.1, 0.5) == "30 (10 to 50) % of their entitlement"
    assert SENT.shifted(0.25) == "others 25\N{NO-BREAK SPACE}% further below entitlement"


def test_loads_are_accepted_as_far_as_their_squares_can_be_summed() -> None:
    # The largest float is 1.8e308.
    assert WorkloadSeries(workload="db", load=(1e150,)).load == (1e150,)
    with pytest.raises(ValueError, match=r"^load 0 of db is 1.1e\+150; it must be .* to 1e\+150"):
        WorkloadSeries(workload="db", load=(1.1e150,))


def test_smallest_harm_that_is_sure_confirms_the_cause() -> None:
    # Half a millisecond, in every window alike.
    result = judged(busy((30.0, 0.0) * 16), victim(5.0, (5.5, 5.0) * 16))

    suspect = result.suspects[0]
    assert suspect.experiment is not None
    assert suspect.experiment.shift_low == 0.5
    assert ground(result, "on and off") == 1.0


def test_on_and_off_tell_more_than_the_load_where_any_load_does_the_same_harm() -> None:
    # While it is on, at whatever load, others wait half a millisecond longer.
    load = tuple(30.0 + 7 * window % 16 if window % 2 else 0.0 for window in range(WINDOWS))

    suspect = of(judged(busy(load), victim(5.0, (5.0, 5.5) * 16)), "busy")

    assert suspect.experiment is not None
    assert (suspect.experiment.superiority, suspect.experiment.shift_low) == (1.0, 0.5)
    assert suspect.dependence is not None
    assert suspect.dependence.correlation < 1
    assert suspect.score == pytest.approx(suspect.part_ratio)
