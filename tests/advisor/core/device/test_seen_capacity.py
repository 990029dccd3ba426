import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.device.seen_capacity import ENOUGH_WINDOWS, seen_capacity

WINDOWS = st.lists(st.tuples(st.floats(1, 1e6), st.floats(0, 100)), min_size=1, max_size=40)


@given(WINDOWS, st.floats(0, 100))
def test_interval_holds_the_value_and_only_rates_that_were_seen(
    windows: list[tuple[float, float]], threshold: float
) -> None:
    rates, levels = zip(*windows, strict=True)

    found = seen_capacity(rates, levels, threshold=threshold)

    assert found is not None
    assert found.is_bound == (sum(one > threshold for one in levels) < ENOUGH_WINDOWS)
    high = found.value if found.high is None else found.high
    # Between two windows the percentile is on the line between them.
    assert min(rates) * (1 - 1e-9) <= found.low <= found.value <= high <= max(rates) * (1 + 1e-9)


def test_capacity_is_the_median_of_what_was_delivered_above_the_threshold() -> None:
    rates = [100.0, *range(1000, 2001, 100)]
    levels = [5.0, *[40.0] * 11]

    found = seen_capacity(rates, levels, threshold=30)

    # Of eleven rates from 1000 to 2000 the second is the tenth percentile.
    assert found is not None
    assert (found.low, found.value, found.high) == (1100, 1500, 1900)
    assert (found.windows, found.is_bound) == (11, False)


@pytest.mark.parametrize("loaded", [0, ENOUGH_WINDOWS - 1])
def test_without_a_minute_of_load_the_most_that_was_delivered_is_a_lower_bound(
    loaded: int,
) -> None:
    levels = [40.0] * loaded + [5.0] * (10 - loaded)

    found = seen_capacity([100.0] * 9 + [700.0], levels, threshold=30)

    assert found is not None
    assert (found.value, found.low, found.high, found.is_bound) == (700, 700, None, True)


def test_device_without_io_has_no_capacity_yet() -> None:
    assert seen_capacity([], [], threshold=30) is None
