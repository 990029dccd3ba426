"""Which class of volumes a limit chooses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.volume_classes import (
    Class,
    MeaningError,
    choose_class,
    rate_of,
    read_meanings,
)

IOPS = read_meanings("iops=IOPS throughput=MiB/s")
RATES = st.floats(min_value=1.0, max_value=1e6)


def of(**parameters: str) -> Class:
    return Class(name="-".join(parameters.values()), parameters=parameters)


@given(rates=st.lists(st.integers(1, 10**6), max_size=8), limit=RATES, reservation=RATES)
def test_chosen_class_holds_to_the_limit_and_keeps_the_reservation(
    rates: list[int], limit: float, reservation: float
) -> None:
    classes = [of(iops=str(rate)) for rate in rates]

    found = choose_class(classes, IOPS, unit="iops", limit=limit, reservation=reservation)
    again = choose_class(classes[::-1], IOPS, unit="iops", limit=limit, reservation=reservation)

    fitting = [rate for rate in rates if reservation <= rate <= limit]
    assert found == again
    assert found.rate == (max(fitting) if fitting else None)
    assert bool(found.why_not) is not bool(fitting)


@pytest.mark.parametrize(
    ("parameters", "unit", "rate"),
    [
        ({"iops": "4000"}, "iops", 4000.0),
        ({"iops": "4k"}, "iops", 4000.0),
        ({"throughput": "250"}, "bytes_per_s", 250 * 2.0**20),
        # The quantity of the parameter, and what its number counts.
        ({"throughput": "1Ki"}, "bytes_per_s", 2.0**30),
        ({"throughput": "250"}, "iops", None),
        ({"iops": "many"}, "iops", None),
        ({"iops": ""}, "iops", None),
        ({"iops": "9" * 400}, "iops", None),
        ({}, "iops", None),
    ],
)
def test_rate_of_a_class(parameters: dict[str, str], unit: str, rate: float | None) -> None:
    assert rate_of(of(**parameters), IOPS, unit) == rate


def test_of_several_parameters_the_smallest_holds() -> None:
    meanings = read_meanings("read=IOPS write=IOPS")

    assert rate_of(of(read="500", write="300"), meanings, "iops") == 300.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("iops", "write it like iops=IOPS"),
        ("iops=Hz", "write it like iops=IOPS"),
        ("=IOPS", "write it like iops=IOPS"),
        ("a b=IOPS", "write it like iops=IOPS"),
        ("iops=IOPS iops=B/s", "twice what iops means"),
        (" ".join(f"p{number}=IOPS" for number in range(11)), "at most 10"),
    ],
)
def test_text_that_does_not_say_what_parameters_mean_is_refused(text: str, why: str) -> None:
    with pytest.raises(MeaningError, match=why):
        read_meanings(text)


def test_nothing_said_means_nothing() -> None:
    assert read_meanings("  ") == ()
    found = choose_class([of(iops="1")], (), unit="iops", limit=9.0, reservation=0.0)
    assert "no class says" in found.why_not
