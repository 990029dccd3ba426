"""Harm: what a workload lost against its own normal, and the mean of all but one."""

import numpy as np
import numpy.typing as npt
import pytest

from advisor.core.attribution.harm import VictimHarm, harm_of_others, harms
from advisor.core.attribution.workload_series import WorkloadSeries, matrix_of

Column = tuple[float | None, ...]


def one(name: str, harm: Column | None, load: Column | None = None) -> WorkloadSeries:
    return WorkloadSeries(workload=name, load=load or (1.0,) * len(harm or ()), harm=harm)


def lost(*series: WorkloadSeries, normal_windows: int, without: tuple[str, ...] = ()) -> list[str]:
    return [found.workload for found in found_in(series, normal_windows, without)]


def found_in(
    series: tuple[WorkloadSeries, ...], normal_windows: int, without: tuple[str, ...] = ()
) -> tuple[VictimHarm, ...]:
    """The harm, where the incident begins after the normal windows."""
    windows = len(series[0].load)
    during = np.arange(windows) >= normal_windows
    return harms(series, during, 10.0, without=without)


def test_time_is_lost_above_the_95th_percentile_of_the_normal() -> None:
    # Of 0 to 100 ms the 95th percentile is 95: one window of three is above it.
    normal = tuple(float(ms) for ms in range(101))

    (found,) = found_in((one("db", (*normal, 94.0, 95.0, 95.5)),), 101)

    assert found == VictimHarm(workload="db", normal=50.0, during=95.0, lost_s=10.0)


@pytest.mark.parametrize(
    ("normal", "expected"),
    [((2.0,) * 12, (2.0, 10.0)), ((2.0,) * 11 + (None,), (None, None))],
    ids=["12 windows", "11 windows"],
)
def test_normal_is_known_from_12_windows_on(
    normal: Column, expected: tuple[float | None, float | None]
) -> None:
    (found,) = found_in((one("db", (*normal, 9.0)),), 12)

    assert (found.normal, found.lost_s) == expected
    assert found.during == 9.0


def test_workload_without_a_known_window_in_the_incident_is_no_victim() -> None:
    assert lost(one("db", (1.0,) * 12 + (None,)), normal_windows=12) == []


def test_workload_whose_harm_was_not_measured_is_no_victim() -> None:
    bare = WorkloadSeries(workload="bare", load=(1.0,) * 13)

    assert lost(bare, one("db", (1.0,) * 13), normal_windows=12) == ["db"]


def test_aggressors_are_no_victims() -> None:
    pair = (one("a", (1.0,) * 13), one("b", (1.0,) * 13))

    assert lost(*pair, normal_windows=12, without=("a",)) == ["b"]


def test_victims_come_by_lost_time_then_by_harm_then_by_name() -> None:
    calm = (1.0,) * 12
    series = (
        one("b", (*calm, 1.0, 1.0)),
        one("a", (*calm, 1.0, 1.0)),
        one("slow", (*calm, 5.0, 5.0)),
        one("slower", (*calm, 5.0, 9.0)),
        # Half of a slot lost, but with the higher median than the others.
        one("once", (*calm, 1.0, 90.0)),
        one("new", (None,) * 12 + (50.0, 50.0)),
    )

    names = lost(*series, normal_windows=12)

    assert names == ["slower", "slow", "once", "new", "a", "b"]


def others(
    *series: WorkloadSeries, shared: Column | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The harm to all but the first, and their load."""
    load = matrix_of([each.load for each in series], len(series[0].load))
    return harm_of_others(series, load, shared)[0]


def test_harm_of_others_is_weighted_by_their_mean_load() -> None:
    # Mean loads 1 and 3, in all windows alike: (1 · 10 + 3 · 2) / 4 and (1 · 20 + 3 · 4) / 4.
    harm, control = others(
        one("cause", (99.0, 99.0), (50.0, 50.0)),
        one("a", (10.0, 20.0), (0.0, 2.0)),
        one("b", (2.0, 4.0), (3.0, 3.0)),
    )

    assert harm.tolist() == [4.0, 8.0]
    assert control.tolist() == [3.0, 5.0]


def test_unknown_harm_of_one_leaves_the_mean_to_the_others() -> None:
    harm, _ = others(
        one("cause", (99.0, 99.0), (50.0, 50.0)),
        one("a", (10.0, None), (2.0, 2.0)),
        one("b", (None, None), (2.0, 2.0)),
    )

    assert harm[0] == 10.0
    assert np.isnan(harm[1])


def test_unknown_load_counts_as_none() -> None:
    _, control = others(one("cause", (1.0,), (9.0,)), one("a", (1.0,), (None,)))

    assert control.tolist() == [0.0]


def test_control_is_the_load_of_those_whose_harm_is_measured() -> None:
    bare = WorkloadSeries(workload="bare", load=(7.0,))

    _, control = others(one("cause", (1.0,), (9.0,)), bare, one("a", (1.0,), (3.0,)))

    assert control.tolist() == [3.0]


@pytest.mark.parametrize("shared", [(4.0, None), None], ids=["shared", "none"])
def test_shared_harm_stands_in_where_nobody_elses_is_measured(shared: Column | None) -> None:
    bare = WorkloadSeries(workload="bare", load=(7.0, 8.0))

    harm, control = others(one("cause", (1.0, 1.0), (9.0, 9.0)), bare, shared=shared)

    assert np.isnan(harm).tolist() == [shared is None, True]
    assert control.tolist() == [7.0, 8.0]


def test_harm_is_that_of_all_but_each() -> None:
    # b's loads are 1 and 3, c's 2 and 2, a's 4 and 4: each mean is over the other two.
    series = (
        one("a", (1.0, 2.0), (4.0, 4.0)),
        one("b", (3.0, None), (1.0, 3.0)),
        one("c", (5.0, 6.0), (2.0, 2.0)),
    )
    load = matrix_of([each.load for each in series], 2)

    found = harm_of_others(series, load, None)

    harm = [of_others.tolist() for of_others, _ in found]
    assert harm == [[4.0, 6.0], pytest.approx([14 / 6, 20 / 6]), pytest.approx([10 / 6, 2.0])]
    assert [control.tolist() for _, control in found] == [[3.0, 5.0], [6.0, 6.0], [5.0, 7.0]]


def test_steady_others_stay_steady_beside_a_large_one() -> None:
    # 0.1 + 0.2 is 0.3 and an error; a sum less the large one would leave another in each window.
    loads = ((1e9, 3.7e9, 8.1e9), (0.1,) * 3, (0.2,) * 3)
    series = tuple(one(name, None, load) for name, load in zip("abc", loads, strict=True))

    _, control = harm_of_others(series, np.array(loads), None)[0]

    assert len(set(control.tolist())) == 1


def test_smallest_load_weighs_the_harm_of_others() -> None:
    # a does 0.1 and b 0.3 I/Os a second: (0.1 · 2 + 0.3 · 10) / 0.4.
    series = (
        one("suspect", (1.0,)),
        one("a", (2.0,), load=(0.1,)),
        one("b", (10.0,), load=(0.3,)),
    )

    harm, load = harm_of_others(series, np.array([[5.0], [0.1], [0.3]]), None)[0]

    assert harm.tolist() == pytest.approx([8.0])
    assert load.tolist() == pytest.approx([0.4])
