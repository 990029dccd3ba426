"""The lengths of windows: the next that is no finer than wanted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ingest.core.steps import STEPS_S, coarse_step_s, step_of


@pytest.mark.parametrize("step", STEPS_S)
def test_step_divides_a_day_and_is_no_finer_than_wanted(step: int) -> None:
    assert 86_400 % step == 0
    assert step_of(step) == step
    assert step_of(step - 0.5) == step


def test_steps_are_those_of_a_clock() -> None:
    minute, hour = 60, 3600
    assert (
        *(1, 2, 5, 10, 15, 20, 30),
        *(minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute),
        *(hour, 2 * hour, 6 * hour, 24 * hour),
    ) == STEPS_S


def test_nothing_is_coarser_than_a_day() -> None:
    assert step_of(86_401) == 86_400


@pytest.mark.parametrize(("most", "step"), [(360, 10), (359, 15), (1, 3600)])
def test_hour_is_divided_into_no_more_windows_than_asked(most: int, step: int) -> None:
    assert coarse_step_s(timedelta(hours=1), most) == step
