"""Several short bursts of a neighbour are told together, and nobody innocent with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.attribution.attribution import AttributionInputs, attribute
from advisor.core.attribution.measure import DEVICE_TIME
from advisor.core.attribution.several_incidents import put_together, told_by_several
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.dependence import LAGS

AROUND, BURST = 6, 2
"""A minute on both sides of a burst of two windows of ten seconds."""
NAMES = ("a", "b", "c", "d", "steady")
SEEDS = range(20)

columns = st.lists(st.none() | st.floats(0, 1e6), min_size=6, max_size=6).map(tuple)
parts = st.builds(
    AttributionInputs,
    series=st.lists(
        st.builds(
            WorkloadSeries,
            workload=st.sampled_from("abcd"),
            load=columns,
            harm=st.none() | columns,
            entitlement=st.floats(0, 4000),
        ),
        max_size=4,
        unique_by=lambda one: one.workload,
    ).map(tuple),
    in_incident=st.lists(st.booleans(), min_size=6, max_size=6).map(tuple),
    window_s=st.just(10.0),
    measure=st.just(DEVICE_TIME),
    shared_harm=st.none() | columns,
)


def burst(seed: int, *, by: str | None) -> AttributionInputs:
    """A device whose latency follows what is outstanding, and on which somebody comes at once.

    Each keeps two I/Os outstanding, `steady` twenty. In the burst of two windows `by` keeps
    sixty; if it is nobody, latency rises by itself, as of load from outside.
    """
    rng = np.random.default_rng(seed)
    windows = 2 * AROUND + BURST
    outstanding = rng.lognormal(np.log(2), 0.25, size=(len(NAMES), windows))
    outstanding[NAMES.index("steady")] = 20.0 * rng.lognormal(0, 0.02, windows)
    during = np.zeros(windows, dtype=bool)
    during[AROUND : AROUND + BURST] = True
    if by is not None:
        own = NAMES.index(by)
        outstanding[own] = np.where(during, 60.0, 0.2) * rng.lognormal(0, 0.25, windows)
    latency = 0.5 + 0.1 * outstanding.sum(axis=0) + (6.0 * during if by is None else 0.0)
    load = 1000 * outstanding / latency
    seen = latency * rng.lognormal(0, 0.1, size=load.shape)
    return AttributionInputs(
        series=tuple(
            WorkloadSeries(
                workload=name, load=tuple(load[row].tolist()), harm=tuple(seen[row].tolist())
            )
            for row, name in enumerate(NAMES)
        ),
        in_incident=tuple(during.tolist()),
        window_s=10.0,
        measure=DEVICE_TIME,
    )


def day(seed: int, *, by: str | None, count: int = 6) -> list[AttributionInputs]:
    return [burst(1000 * seed + number, by=by) for number in range(count)]


@given(parts)
def test_one_incident_alone_is_itself(one: AttributionInputs) -> None:
    assert attribute(put_together([one])) == attribute(one)


@given(st.lists(parts, min_size=2, max_size=4))
def test_all_windows_are_there_with_gaps_that_no_lag_spans(some: list[AttributionInputs]) -> None:
    whole = put_together(some)

    gap = max(LAGS)
    assert len(whole.in_incident) == 6 * len(some) + gap * (len(some) - 1)
    assert {one.workload for one in whole.series} == {
        one.workload for part in some for one in part.series
    }
    for number, part in enumerate(some):
        at = slice((6 + gap) * number, (6 + gap) * number + 6)
        assert whole.in_incident[at] == part.in_incident
        between = slice(at.stop, at.stop + gap)
        assert not any(whole.in_incident[between])
        for one in part.series:
            (own,) = [row for row in whole.series if row.workload == one.workload]
            assert own.load[at] == one.load
            assert all(value is None for value in own.load[between])


@given(st.lists(parts, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_order_of_workloads_in_an_incident_changes_nothing(some, random) -> None:
    shuffled = []
    for part in some:
        series = list(part.series)
        random.shuffle(series)
        shuffled.append(replace(part, series=tuple(series)))

    assert put_together(shuffled) == put_together(some)


def test_neighbour_of_short_bursts_is_told_by_several_and_hardly_ever_by_one() -> None:
    by_one, by_several = [], []
    for seed in SEEDS:
        some = day(seed, by="c")
        alone = attribute(some[-1])
        by_one.append(alone.aggressors)
        told = told_by_several(alone, attribute(put_together(some))) or alone
        by_several.append(told.aggressors)

    assert by_one.count(("c",)) <= 3
    assert by_several.count(("c",)) >= 19


def test_what_is_told_by_several_is_of_this_incident() -> None:
    some = day(2, by="c")
    alone = attribute(some[-1])

    told = told_by_several(alone, attribute(put_together(some)))

    assert alone.aggressors == ()
    assert told is not None
    assert [one.workload for one in told.suspects if one.is_aggressor] == ["c"]
    # What the others lost in this one, without the one who caused it.
    assert {one.workload for one in told.victims} == {"a", "b", "d", "steady"}
    assert all((one.lost_s or 0.0) <= 10.0 * BURST for one in told.victims)


def test_burst_that_nobody_causes_accuses_hardly_anybody() -> None:
    answers = [
        (attribute(some[-1]), attribute(put_together(some)))
        for some in (day(seed, by=None) for seed in SEEDS)
    ]

    assert sum(told_by_several(alone, together) is not None for alone, together in answers) == 0


def test_steady_heavy_one_is_not_accused_of_the_bursts_of_another() -> None:
    for seed in SEEDS:
        together = attribute(put_together(day(seed, by="c")))

        assert "steady" not in together.aggressors


def test_whoever_did_nothing_in_this_incident_is_not_accused_of_it() -> None:
    some = [*day(1, by="c"), burst(99, by=None)]
    alone, together = attribute(some[-1]), attribute(put_together(some))

    assert together.aggressors == ("c",)
    assert told_by_several(alone, together) is None


def test_whoever_is_accused_of_others_alone_is_not_of_this_one() -> None:
    both = [*day(1, by="c", count=8), *day(2, by="d", count=8), burst(77, by="c")]
    alone, together = attribute(both[-1]), attribute(put_together(both))

    assert set(together.aggressors) == {"c", "d"}
    told = told_by_several(alone, together)
    # Where the first of the two is the other one, nobody is accused.
    assert (told.aggressors if told else ()) == (("c",) if together.aggressors[0] == "c" else ())


def test_what_one_incident_tells_by_itself_stays() -> None:
    some = day(1, by="c")
    together = attribute(put_together(some))

    assert told_by_several(together, together) is None


def test_entitlement_is_the_mean_over_windows_that_know_the_workload() -> None:
    def known(load: float, entitlement: float, count: int) -> AttributionInputs:
        row = WorkloadSeries(workload="a", load=(load,) * count, entitlement=entitlement)
        other = WorkloadSeries(workload="b", load=(1.0,) * count, entitlement=1.0)
        return AttributionInputs(
            series=(row, other), in_incident=(True,) * count, window_s=10.0, measure=DEVICE_TIME
        )

    without = replace(known(1.0, 0.0, 3), series=(known(1.0, 0.0, 3).series[1],))

    whole = put_together([known(1.0, 30.0, 2), without, known(1.0, 60.0, 4)])

    # 2 windows of 30 and 4 of 60; the three without it do not count.
    assert whole.series[0].entitlement == pytest.approx(50.0)
    assert whole.series[0].load == (1, 1, *[None] * 7, 1, 1, 1, 1)
