"""What is made of the counts of two hosts with one datastore."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testbed.shared_datastore import figures

CLASSES = {"one": ("high", "low", "low"), "other": ("high", "low")}


def second(one: list[float], other: list[float]) -> dict[str, Any]:
    return {
        "one": {"iops": one, "ios": 300, "latency_ms": 10.0},
        "other": {"iops": other, "ios": 100, "latency_ms": 30.0},
    }


EVEN = second([100.0, 40.0, 60.0], [100.0, 50.0])
UNEVEN = second([80.0, 40.0, 60.0], [120.0, 50.0])


def test_class_is_the_mean_of_its_workloads_over_all_seconds() -> None:
    assert figures.class_iops([EVEN, UNEVEN], CLASSES) == {
        "one": {"high": 90.0, "low": 50.0},
        "other": {"high": 110.0, "low": 50.0},
    }


def test_hosts_are_apart_by_the_class_that_differs_most() -> None:
    assert figures.apart([EVEN], CLASSES) == 0
    # 80 and 120 of 100; the other class does not differ.
    assert figures.apart([UNEVEN], CLASSES) == pytest.approx(0.4)


def test_classes_are_off_their_shares_by_the_two_that_are_furthest() -> None:
    shares = {"high": 2.0, "low": 1.0}

    assert figures.off_shares([EVEN], CLASSES, shares) == 0
    # On one host 80 for 2 shares beside 50 for one: 40 and 50.
    assert figures.off_shares([UNEVEN], CLASSES, shares) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("seconds", "after_s"),
    [
        ([EVEN] * 8, 0),
        # One uneven second of four still is 10 % apart.
        ([UNEVEN] * 3 + [EVEN] * 6, 3),
        ([EVEN] * 6 + [UNEVEN], None),
        ([UNEVEN] * 9, None),
        ([EVEN] * 3, None),
    ],
)
def test_it_is_settled_once_no_four_seconds_are_apart(
    seconds: list[dict[str, Any]], after_s: int | None
) -> None:
    assert figures.settled_after_s(seconds, CLASSES, within=0.05) == after_s


def test_total_is_of_all_hosts_and_latency_of_all_ios() -> None:
    idle = {**EVEN, "other": {"iops": [0.0, 0.0], "ios": 0, "latency_ms": None}}

    assert figures.total_iops([EVEN, idle]) == pytest.approx((350 + 200) / 2)
    assert figures.latency_ms([EVEN]) == pytest.approx(15.0)
    assert figures.latency_ms([idle]) == pytest.approx(10.0)


def test_classes_stand_beside_the_low_one_of_their_host() -> None:
    assert figures.beside_low([EVEN], CLASSES) == {"high of 3": 2.0, "high of 2": 2.0}
