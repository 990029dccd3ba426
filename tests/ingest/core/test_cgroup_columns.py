"""Rates of cgroups from columns are those from readings, to the last bit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.cgroup_columns import cgroup_rates, with_pressure
from ingest.core.counters import Reading, longest_interval_s
from ingest.core.growth_columns import NOT_SENT, Integers, growth_columns
from ingest.core.microseconds import microseconds
from ingest.core.rates import CGROUP_COUNTERS, PRESSURE_COUNTERS, derive_cgroup_rates

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def readings(width: int) -> st.SearchStrategy[list[Reading]]:
    """Of a few times out of twelve, so that I/O and pressure often meet."""
    counters = st.tuples(*[st.none() | st.integers(0, 10**9)] * width)
    return st.dictionaries(st.integers(0, 11), counters).map(
        lambda rows: [
            Reading(at=START + timedelta(seconds=9.99 * place), counters=row)
            for place, row in sorted(rows.items())
        ]
    )


def in_columns(rows: list[Reading], width: int) -> tuple[Integers, Integers]:
    sent = [[NOT_SENT if one is None else one for one in row.counters] for row in rows]
    at_us = np.array([microseconds(row.at) for row in rows], dtype=np.int64)
    return at_us, np.array(sent, dtype=np.int64).reshape(-1, width)


@given(readings(len(CGROUP_COUNTERS)), st.lists(readings(len(PRESSURE_COUNTERS)), max_size=3))
def test_rates_and_pressure_are_those_of_readings(
    rows: list[Reading], waits: list[list[Reading]]
) -> None:
    longest_s = longest_interval_s([row.at for row in rows])
    derived = derive_cgroup_rates(
        rows, [one for series in waits for one in series], device="8:0",
        longest_interval_s=longest_s,
    )  # fmt: skip

    growth = growth_columns(*in_columns(rows, len(CGROUP_COUNTERS)), longest_s=longest_s)
    pressure = [in_columns(series, len(PRESSURE_COUNTERS)) for series in waits if series]
    found = cgroup_rates(with_pressure(growth, pressure, longest_s=longest_s), device="8:0")

    assert found == derived.rates
