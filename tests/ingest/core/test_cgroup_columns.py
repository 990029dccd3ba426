"""The pressure of a cgroup stands beside the I/O of the same interval."""

from __future__ import annotations

from ingest.core.cgroup_columns import with_pressure
from ingest.core.growth_columns import growth_columns
from ingest.core.rates import CgroupRates, cgroup_rates
from tests.ingest.core.readings import NEVER, Columns, at, columns, every

IO = every((0, 0, 0, 0), (500, 100, 5_000_000, 1_000_000), (500, 100, 5_000_000, 1_000_000))


def rates(*pressure: Columns, io: Columns = IO) -> list[CgroupRates]:
    growth = growth_columns(*io, longest_s=NEVER)
    return cgroup_rates(with_pressure(growth, pressure, longest_s=NEVER), device="259:0")


def pressures(*pressure: Columns) -> list[tuple[float | None, float | None]]:
    return [(one.some_pressure_ratio, one.full_pressure_ratio) for one in rates(*pressure)]


def test_cgroup_rates_carry_the_pressure_of_the_same_interval() -> None:
    # 2.5 s of 10 s some task waited, 1 s all of them.
    found = rates(every((0, 0), (2_500_000, 1_000_000)))

    assert found[0] == CgroupRates(
        at=at(10),
        seconds=10,
        device="259:0",
        read_iops=50,
        write_iops=10,
        read_bytes_per_s=500_000,
        write_bytes_per_s=100_000,
        some_pressure_ratio=0.25,
        full_pressure_ratio=0.1,
    )
    assert (found[1].some_pressure_ratio, found[1].full_pressure_ratio) == (None, None)


def test_cgroup_without_pressure_has_none() -> None:
    assert pressures() == [(None, None), (None, None)]


def test_pressure_of_another_interval_is_not_that_of_the_io() -> None:
    # From 0 s to 20 s; the I/O is of 10 s each.
    assert pressures(columns((0, (0, 0)), (20, (2_000_000, 0)))) == [(None, None), (None, None)]


def test_pressure_that_was_not_sent_is_unknown() -> None:
    assert pressures(every((0, 0), (1_000_000, None), (2_000_000, 0))) == [
        (None, None),
        (None, None),
    ]


def test_pressure_may_come_from_several_series() -> None:
    # 1 s and 3 s of 10 s
    first = columns((0, (0, 0)), (10, (1_000_000, 0)))
    second = columns((20, (4_000_000, 0)))

    assert pressures(second, first) == [(0.1, 0.0), (0.3, 0.0)]


def test_of_several_readings_at_one_time_the_last_one_given_counts() -> None:
    first = every((0, 0), (1_000_000, 0))
    second = columns((10, (2_000_000, 0)))

    assert pressures(first, second)[0] == (0.2, 0.0)
    assert pressures(second, first)[0] == (0.1, 0.0)


def test_pressure_is_at_most_all_the_time() -> None:
    assert pressures(every((0, 0), (10_000_001, 0)))[0] == (1.0, 0.0)
