"""Columns of the past say what its windows say one by one."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.canonical import dumps, loads
from advisor.core.forecast.past import Past, StoredPast
from tests.advisor.advice.policy.contended_resources import BEGAN
from tests.advisor.advice.policy.test_policy_properties import pasts

counts = st.integers(1, 4)
times = st.integers(-3, 8).map(lambda hours: BEGAN + timedelta(hours=hours))


@given(counts.flatmap(pasts))
def test_columns_are_stored_and_taken_back_as_they_were(past: Past) -> None:
    text = dumps(past)

    assert text == dumps(past.stored())
    assert dumps(loads(Past, text)) == text
    assert Past.of(past.stored()) == past


@given(counts.flatmap(pasts), st.data())
def test_a_past_with_a_number_below_zero_is_not_written(past: Past, data) -> None:
    if not len(past.windows):
        return
    column = data.draw(st.sampled_from(["capacity", "demands"]))
    places = np.ndindex(getattr(past.windows, column).shape)
    getattr(past.windows, column)[data.draw(st.sampled_from(list(places)))] = -1.0

    with pytest.raises(ValueError, match="it must be a finite number of at least 0"):
        dumps(past)


@given(counts.flatmap(pasts), times, times)
def test_windows_outside_a_time_are_those_that_do_not_reach_into_it(past, since, until) -> None:
    stored = past.stored()

    found = past.outside(since, until).stored()

    keep = [
        place
        for place, one in enumerate(stored.windows)
        if one.at <= since or one.at - timedelta(seconds=one.window_s) >= until
    ]
    assert found.windows == tuple(stored.windows[place] for place in keep)
    assert found.congested == tuple(stored.congested[place] for place in keep)
    assert found.rates == tuple(stored.rates[place] for place in keep if stored.rates)
    assert found.latency_ms == tuple(stored.latency_ms[place] for place in keep if stored.rates)


def known(past: StoredPast) -> tuple[float | None, ...]:
    return past.latency_ms or (None,) * len(past.windows)


@given(counts.flatmap(lambda count: st.tuples(pasts(count), pasts(count))))
def test_two_pasts_follow_each_other(both) -> None:
    first, second = (one.stored() for one in both)
    if not first.windows or not second.windows:
        return

    found = both[0].and_then(both[1]).stored()

    assert found.windows == first.windows + second.windows
    assert found.congested == first.congested + second.congested
    assert found.rates == (first.rates + second.rates if first.rates and second.rates else ())
    if first.latency_ms or second.latency_ms:
        assert found.latency_ms == known(first) + known(second)
    assert found.outcomes == second.outcomes
