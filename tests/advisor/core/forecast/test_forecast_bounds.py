"""Predictions from the past, at the exact value of each rule."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.backtest import Backtest, Change, NoHistory, backtest
from advisor.core.forecast.calibration import PredictedRate, Score, calibrate, score
from advisor.core.forecast.comparison import Comparison, play
from advisor.core.forecast.counterfactual import LatencyEffect, latency_interval
from advisor.core.forecast.latency_backtest import joint_latency, latency_backtest
from advisor.core.forecast.past import HistoryWindow, Past, StoredPast, bounds_of, windows_of
from advisor.core.forecast.prediction_interval import (
    Interval,
    Outcome,
    interval_around,
    interval_or_gap,
)
from advisor.core.grant import Grant
from tests.advisor.core.forecast.weeks import history_of, judged, week

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
FLOOR = ReservationMode.FLOOR


def grant(
    number: int, *, shares: int = 1000, reservation: float = 0.0, limit: float | None = None
) -> Grant:
    return Grant(allocation=number, reservation=reservation, limit=limit, shares=shares)


def windows(
    *demands: tuple[float | None, ...], capacity: float = 1000.0, window_s: float = 60.0
) -> list[HistoryWindow]:
    return [
        HistoryWindow(
            at=START + timedelta(minutes=place),
            window_s=window_s,
            capacity=capacity,
            demands=row,
        )
        for place, row in enumerate(demands)
    ]


def simulated(
    rows: list[HistoryWindow], before: list[Grant], after: list[Grant], **options: float
) -> Backtest:
    comparison = Comparison(mode=FLOOR, before=before, after=after, **options)  # type: ignore[arg-type]
    names = [str(one.allocation) for one in before]
    found = backtest(names, windows_of(rows), comparison)
    assert isinstance(found, Backtest)
    return found


@pytest.mark.parametrize(
    ("after", "change"),
    [
        (105.2, Change.SAME),
        (105.4, Change.GAINS),
        (95.1, Change.SAME),
        (94.9, Change.LOSES),
        (100.0, Change.SAME),
    ],
)
def test_mean_rate_changes_if_it_differs_by_more_than_a_twentieth_of_the_higher(
    after: float, change: Change
) -> None:
    # 5 % of 105.26 are 5.26.
    found = simulated(windows((None,)), [grant(1, limit=100.0)], [grant(1, limit=after)])

    assert found.workloads[0].change is change


def test_simulation_counts_minutes_by_the_length_of_each_window() -> None:
    # Six minutes at a demand of 300 that a limit of 200 throttles, four at 100.
    rows = windows((300.0,), window_s=360.0) + windows((100.0,), window_s=240.0)

    found = simulated(rows, [grant(1)], [grant(1, limit=200.0)])

    (one,) = found.workloads
    assert (one.rate_before, one.rate_after) == pytest.approx((220.0, 160.0))
    assert (one.throttled_min_before, one.throttled_min_after) == (0.0, 6.0)
    assert (one.unmet_min_before, one.unmet_min_after, one.unknown_demand_min) == (0.0, 0.0, 0.0)
    # While it is throttled 800 of 1000 are idle, for six of ten minutes.
    assert (found.idle_ratio_before, found.idle_ratio_after) == pytest.approx((0.0, 0.48))
    assert (found.windows, found.began_at, found.ended_at) == (2, START, START)


def test_reservation_is_unmet_where_the_capacity_does_not_hold_it() -> None:
    rows = windows((None, None), (100.0, None), capacity=500.0)

    found = simulated(
        rows, [grant(1), grant(2)], [grant(1, reservation=600.0), grant(2)], capacity_ratio=1.0
    )

    # In the first minute it wants 600 of 500; in the second it wants no more than 100.
    assert [one.unmet_min_after for one in found.workloads] == [1.0, 0.0]
    assert [one.unknown_demand_min for one in found.workloads] == [1.0, 2.0]


def test_nothing_is_idle_where_there_was_no_capacity() -> None:
    found = simulated(windows((None,), capacity=0.0), [grant(1)], [grant(1, limit=5.0)])

    assert (found.idle_ratio_before, found.idle_ratio_after) == (0.0, 0.0)


def test_candidate_may_have_another_capacity() -> None:
    found = simulated(windows((None,)), [grant(1)], [grant(1)], capacity_ratio=0.5)

    assert (found.workloads[0].rate_before, found.workloads[0].rate_after) == (1000.0, 500.0)


def test_demand_at_the_limit_is_not_throttled() -> None:
    played = play(windows_of(windows((200.0,), (201.0,))), [grant(1, limit=200.0)], FLOOR)

    assert played.throttled.tolist() == [[False], [True]]


def test_pressure_divides_in_place_of_shares_and_reservations() -> None:
    policy = [grant(1, shares=1, reservation=900.0), grant(2, shares=99)]

    rows = windows_of(windows((None, None)))
    played = play(rows, policy, FLOOR, pressure=np.array([[300.0, 100.0]]))

    assert played.rates.tolist() == [pytest.approx([750.0, 250.0])]


def test_backtest_needs_windows_and_workloads_that_fit() -> None:
    comparison = Comparison(mode=FLOOR, before=[grant(1)], after=[grant(1)])

    assert backtest(["1"], windows_of([]), comparison) == NoHistory(reason="no windows")
    nobody = Comparison(mode=FLOOR, before=[], after=[])
    assert backtest([], windows_of(windows((1.0,))), nobody) == NoHistory(reason="no workloads")
    with pytest.raises(ValueError, match="one grant per workload"):
        backtest(["1", "2"], windows_of(windows((1.0, 1.0))), comparison)
    with pytest.raises(ValueError, match="one demand per workload"):
        backtest(["1"], windows_of(windows((1.0, 1.0))), comparison)


def past(calm: list[float], crowded: list[float]) -> Past:
    """Windows of one allocation: known demands, then congested ones with these rates."""
    rows: list[tuple[float | None, ...]] = [(one,) for one in calm]
    rows += [(None,)] * len(crowded)
    return Past.of(
        StoredPast(
            windows=tuple(windows(*rows)),
            congested=(False,) * len(calm) + (True,) * len(crowded),
            rates=tuple((one,) for one in [*calm, *crowded]),
        )
    )


def test_bound_is_a_twentieth_above_the_95th_percentile_of_thirty_calm_windows() -> None:
    # Of 0 to 100 the 95th percentile is 95.
    ramp = [float(rate) for rate in range(101)]

    assert bounds_of(past(ramp, [])) == (pytest.approx(99.75),)
    assert bounds_of(past([100.0] * 30, [])) == (pytest.approx(105.0),)
    assert bounds_of(past([100.0] * 29, [])) == (None,)
    assert bounds_of(Past()) == ()


@pytest.mark.parametrize(("crowded", "is_known"), [([104.0, 106.0], True), ([105.2], False)])
def test_bound_is_unknown_where_more_was_taken_in_congestion_on_the_mean(
    crowded: list[float], is_known: bool
) -> None:
    assert (bounds_of(past([100.0] * 30, crowded))[0] is not None) is is_known


@pytest.mark.parametrize(("hours", "is_enough"), [(24, True), (23, False)])
def test_limit_needs_a_day_of_history(hours: int, is_enough: bool) -> None:
    # One minute of congestion among the hours.
    verdict = judged(week(calm_hours=hours, busy_minutes=1))

    assert ("24 h are needed" not in verdict.reason) is is_enough


@pytest.mark.parametrize(("calm_hours", "allowed"), [(100, True), (99, False)])
def test_limit_may_throttle_for_less_than_a_hundredth_of_the_time(
    calm_hours: int, allowed: bool
) -> None:
    # One of 101 hours is less than a hundredth, one of 100 is one.
    verdict = judged(week(calm_hours=calm_hours))

    assert verdict.allowed is allowed
    assert verdict.throttled == (() if allowed else (2,))


@pytest.mark.parametrize(("limit", "allowed"), [(684.9, True), (685.1, False)])
def test_limit_must_serve_the_others_better_by_a_twentieth(limit: float, allowed: bool) -> None:
    # Of 1000 IOPS the others have 300; without latencies their rate counts: 315 are needed.
    assert judged(week(latency_ms=None), limit=limit).allowed is allowed


def test_latency_is_that_of_all_ios_together() -> None:
    # 30 windows in which 8 outstanding I/Os are served at 800 per second, one in which 8 at 80.
    rows = windows(*[(None,)] * 31)
    fast = [grant(1, limit=800.0)]
    comparison = Comparison(mode=FLOOR, before=fast, after=[grant(1, limit=400.0)])

    (found,) = latency_backtest(["1"], windows_of(rows), [(8.0,)] * 31, comparison)

    assert (found.p95_before_ms, found.p95_after_ms) == (10.0, 20.0)
    assert (found.windows, found.starved_min_after) == (31, 0.0)


@pytest.mark.parametrize(("rows", "members"), [(0, [0]), (30, [])], ids=["windows", "members"])
def test_latency_together_of_nothing_is_not_known(rows: int, members: list[int]) -> None:
    comparison = Comparison(mode=FLOOR, before=[grant(1)], after=[grant(1)])

    past = windows_of(windows(*[(None,)] * rows))
    found = joint_latency(past, [(8.0,)] * rows, members, comparison)

    assert (found.p95_before_ms, found.p95_after_ms, found.windows) == (None, None, 0)


def test_limit_is_judged_by_latencies_below_a_millisecond_too() -> None:
    assert "the others' p95 latency would fall" in judged(week(latency_ms=0.5)).reason


@pytest.mark.parametrize(("known", "is_told"), [(30, True), (29, False)])
def test_latency_needs_thirty_windows_with_io_outstanding(known: int, is_told: bool) -> None:
    rows = windows(*[(None,)] * 32)
    outstanding: list[tuple[float | None]] = [(8.0,)] * known + [(None,), (0.0,), (0.0,)]
    comparison = Comparison(mode=FLOOR, before=[grant(1)], after=[grant(1)])

    (found,) = latency_backtest(["1"], windows_of(rows), outstanding[:32], comparison)

    assert found.windows == known
    assert (found.p95_after_ms is not None) is is_told


@pytest.mark.parametrize(("slow", "p95_ms"), [(15, 1.0), (16, 10.0)])
def test_slowest_twentieth_of_ios_is_left_out_of_the_latency(slow: int, p95_ms: float) -> None:
    # 30 windows of 1000 IOPS wait 1 ms. Windows of 100 IOPS wait 10 ms: 15 of them have 1500 of
    # 31 500 I/Os, less than a twentieth, and 16 have 1600 of 31 600, more than one.
    rows = windows(*[(None,)] * 30) + windows(*[(None,)] * slow, capacity=100.0)
    comparison = Comparison(mode=FLOOR, before=[grant(1)], after=[grant(1)])

    (found,) = latency_backtest(["1"], windows_of(rows), [(1.0,)] * (30 + slow), comparison)

    assert found.p95_before_ms == p95_ms


def test_latency_may_be_that_of_the_slowest_window() -> None:
    # 29 windows of 1000 IOPS wait 1 ms; the last has 10 000 of 39 000 I/Os and waits 10 ms.
    rows = windows(*[(None,)] * 29) + windows((None,), capacity=10_000.0)
    outstanding = [*[(1.0,)] * 29, (100.0,)]
    comparison = Comparison(mode=FLOOR, before=[grant(1)], after=[grant(1)])

    (found,) = latency_backtest(["1"], windows_of(rows), outstanding, comparison)

    assert found.p95_before_ms == 10.0


def test_time_without_any_io_is_starved() -> None:
    rows = windows(*[(None,)] * 30, capacity=0.0)
    comparison = Comparison(mode=FLOOR, before=[grant(1)], after=[grant(1)])

    (found,) = latency_backtest(["1"], windows_of(rows), [(8.0,)] * 30, comparison)

    assert (found.p95_before_ms, found.starved_min_before, found.starved_min_after) == (
        None,
        30.0,
        30.0,
    )


EFFECT = LatencyEffect(
    p95_before_ms=40.0, p95_after_ms=10.0, starved_min_before=0, starved_min_after=0, gap=""
)


def test_interval_of_latency_is_that_of_rates_turned_round() -> None:
    # As much outstanding: 10 ms at 800 per second is 20 ms at 400 and 8 ms at 1000.
    rates = Interval(low=400.0, high=1000.0, level=0.8)

    assert latency_interval(EFFECT, 800.0, rates) == Interval(low=8.0, high=20.0, level=0.8)
    assert latency_interval(EFFECT, 0.0, rates) is None
    assert latency_interval(EFFECT, 800.0, None) is None
    assert latency_interval(EFFECT, 800.0, Interval(low=0.0, high=1.0, level=0.8)) is None


def outcomes(*measured: float) -> list[Outcome]:
    return [Outcome(predicted=100.0, measured=one) for one in measured]


def test_four_outcomes_are_enough_for_an_interval_and_three_are_not() -> None:
    four = outcomes(90.0, 105.0, 120.0, 98.0)

    assert interval_or_gap(50.0, four) == (Interval(low=40.0, high=60.0, level=0.8), "")
    assert interval_or_gap(50.0, four[:3]) == (
        None,
        "3 earlier predictions were measured, 4 are needed",
    )
    assert interval_or_gap(50.0, four[:1])[1].startswith("1 earlier prediction were measured")
    assert interval_or_gap(0.0, four) == (None, "nothing is predicted for it")


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        # The largest of four errors is a fifth.
        (0.5, (Interval(low=0.4, high=0.6, level=0.8), "")),
        (0.0, (None, "nothing is predicted for it")),
    ],
)
def test_any_rate_above_0_has_an_interval(
    predicted: float, expected: tuple[Interval | None, str]
) -> None:
    assert interval_or_gap(predicted, outcomes(90.0, 105.0, 120.0, 98.0)) == expected


def test_interval_ends_at_0_and_needs_a_finite_end() -> None:
    wild = outcomes(*[400.0] * 4)

    found = interval_around(10.0, wild)

    assert found == Interval(low=0.0, high=40.0, level=0.8)
    assert interval_or_gap(1e308, wild)[1] == (
        "the errors of earlier predictions are too large for an interval"
    )


def scored(confidence: float, *, held: bool = True, error: float = 0.1) -> Score:
    return Score(
        confidence=confidence,
        error_ratio=error,
        worst_error_ratio=error,
        bias_ratio=-error,
        skill_ratio=None,
        held=held,
    )


def test_confidence_falls_into_four_bands_each_without_its_upper_edge() -> None:
    edges = (0.0, 0.24, 0.25, 0.5, 0.75, 0.99, 1.0)

    found = calibrate([scored(one) for one in edges])

    assert [(band.low, band.high, band.count) for band in found.bands] == [
        (0.0, 0.25, 2),
        (0.25, 0.5, 1),
        (0.5, 0.75, 1),
        (0.75, 1.0, 3),
    ]


def test_gap_is_weighted_by_the_number_of_predictions() -> None:
    # Three at 0.9 of which all held: 0.1 off; one at 0.4 that did not: 0.4 off.
    found = calibrate([scored(0.9)] * 3 + [scored(0.4, held=False, error=0.3)])

    assert found.gap == pytest.approx((3 * 0.1 + 0.4) / 4)
    assert found.mean_error_ratio == pytest.approx(0.15)
    assert found.mean_bias_ratio == pytest.approx(-0.15)


@pytest.mark.parametrize(("measured", "held"), [(55.0, True), (55.1, False), (45.0, True)])
def test_prediction_holds_within_a_twentieth_of_the_capacity(measured: float, held: bool) -> None:
    rate = PredictedRate(workload="db", before=10.0, predicted=50.0, measured=measured)

    found = score([rate], capacity=100.0, confidence=1.0)

    assert found.held is held
    assert found.bias_ratio == pytest.approx((measured - 50.0) / 100)
    assert found.skill_ratio == pytest.approx(1 - abs(measured - 50) / (measured - 10))


def test_history_has_what_was_delivered_while_congested_and_at_least_the_capacity_else() -> None:
    # Calm, congested, and calm with more than the stated capacity; db is absent from the last.
    ends = [START + timedelta(minutes=minute) for minute in range(3)]
    rate = np.array([[30.0, 10.0], [400.0, 200.0], [np.nan, 1500.0]])
    waits = np.array([[np.nan, 1.0], [1.0, 0.0], [np.nan, np.nan]])

    found = history_of(
        ends, rate, waits, window_s=60.0, capacity=1000.0, congested=[False, True, False]
    )

    assert [(one.at, one.capacity) for one in found] == list(
        zip(ends, [1000.0, 600.0, 1500.0], strict=True)
    )
    # In calm windows every demand was met, whoever waited; in congestion waiting is wanting more.
    assert [one.demands for one in found] == [(30.0, 10.0), (None, 200.0), (0.0, 1500.0)]


def test_least_io_counts_among_those_that_others_keep_up_with() -> None:
    # The median of 0.5 and 0.1 IOPS is 0.3: who takes more may have wanted more. Idle is idle.
    found = history_of(
        [START],
        np.array([[0.5, 0.1, 0.0]]),
        np.full((1, 3), np.nan),
        window_s=60.0,
        capacity=1000.0,
        congested=[True],
    )

    assert [one.demands for one in found] == [(None, 0.1, 0.0)]


def test_who_waits_without_any_io_done_wants_more() -> None:
    found = history_of(
        [START],
        np.array([[0.0, 10.0, np.nan]]),
        np.array([[1.0, 0.0, 1.0]]),
        window_s=60.0,
        capacity=1000.0,
        congested=[True],
    )

    assert [one.demands for one in found] == [(None, 10.0, 0.0)]


def test_past_knows_outstanding_io_and_pressure_of_each_window() -> None:
    rows = windows((1.0, 2.0), (3.0, 4.0), window_s=1800.0)
    found = Past.of(
        StoredPast(
            windows=tuple(rows),
            congested=(False, True),
            rates=((100.0, None), (200.0, 50.0)),
            latency_ms=(10.0, 20.0),
        )
    )

    assert found.hours == 1.0
    np.testing.assert_array_equal(found.outstanding, [[1.0, np.nan], [4.0, 1.0]])
    np.testing.assert_array_equal(found.pressure, [[100.0, 0.0], [200.0, 50.0]])
    assert found.contended().windows.rows() == (rows[1],)
    np.testing.assert_array_equal(found.contended().outstanding, [[4.0, 1.0]])


@pytest.mark.parametrize("column", ["congested", "rates", "latency_ms"])
def test_past_of_uneven_columns_is_refused(column: str) -> None:
    columns = {"congested": (False,), "rates": ((1.0,),), "latency_ms": (1.0,)}
    fine = StoredPast(windows=tuple(windows((1.0,))), **columns)  # type: ignore[arg-type]
    assert Past.of(fine).hours == pytest.approx(1 / 60)

    columns[column] = columns[column] * 2
    with pytest.raises(ValueError, match=f"^{column} must have one"):
        StoredPast(windows=tuple(windows((1.0,))), **columns)  # type: ignore[arg-type]


def test_past_whose_windows_have_other_numbers_of_demands_is_refused() -> None:
    with pytest.raises(ValueError, match="every window must have one demand per allocation"):
        windows_of(windows((1.0,), (1.0, 2.0)))
