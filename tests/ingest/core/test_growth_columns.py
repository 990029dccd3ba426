"""Columns tell of many readings what steps tell of few, to the last bit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.counters import Reading, Step, longest_interval_s, steps
from ingest.core.growth_columns import (
    NOT_SENT,
    growth_columns,
    longest_interval_of,
    merged_columns,
)
from ingest.core.overlap import merged
from ingest.core.rates import derive_conflict_rates

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WIDTH = 2

counters = st.one_of(
    st.none(),
    st.integers(0, 5),
    st.integers(2**31 - 5, 2**31 + 5),
    st.integers(2**32 - 5, 2**32 + 5),
    st.integers(0, 2**63 - 1),
)
lengths_us = st.one_of(
    st.integers(1, 5), st.integers(9_990_000, 10_010_000), st.integers(1, 10**10)
)
readings = st.lists(st.tuples(lengths_us, st.tuples(*[counters] * WIDTH)), max_size=12).map(
    lambda rows: [
        Reading(at=EPOCH + timedelta(microseconds=10**15 + at_us), counters=row)
        for at_us, (_, row) in zip(np.cumsum([us for us, _ in rows]).tolist(), rows, strict=True)
    ]
)


def in_columns(rows: list[Reading], *, step_s: float = 0.0):
    at_us = [(one.at - EPOCH) // timedelta(microseconds=1) for one in rows]
    sent = [[NOT_SENT if one is None else one for one in row.counters] for row in rows]
    times = np.array(at_us, dtype=np.int64)
    return growth_columns(
        times,
        np.array(sent, dtype=np.int64).reshape(-1, WIDTH),
        longest_s=longest_interval_of(times, step_s=step_s),
    )


@given(readings, st.sampled_from([0.0, 10.0, 3600.0]))
def test_growth_in_columns_is_that_of_steps(rows: list[Reading], step_s: float) -> None:
    longest_s = longest_interval_s([one.at for one in rows], step_s=step_s)
    expected = [
        (one.at.timestamp(), one.seconds, one.growth)
        for one in steps(rows, wide=WIDTH, longest_interval_s=longest_s)
        if isinstance(one, Step)
    ]

    found = in_columns(rows, step_s=step_s)

    growth = [tuple(row) for row in found.growth.tolist()]
    ends_s, seconds = found.ends_s.tolist(), found.seconds.tolist()
    assert list(zip(ends_s, seconds, growth, strict=True)) == expected


@given(st.lists(readings, max_size=4), st.integers(0, 10**8), st.integers(0, 10**8))
def test_columns_of_several_series_are_merged_like_rates(
    series: list[list[Reading]], since_us: int, length_us: int
) -> None:
    since_us += 10**15
    since = EPOCH + timedelta(microseconds=since_us)
    until = since + timedelta(microseconds=length_us)
    rates = [
        derive_conflict_rates(
            rows, longest_interval_s=longest_interval_s([one.at for one in rows])
        ).rates
        for rows in series
    ]

    found = merged_columns(
        [in_columns(rows) for rows in series],
        since_us=since_us,
        until_us=since_us + length_us,
        width=WIDTH,
    )

    columns = (found.ends_s, found.seconds, found.per_s(0), found.per_s(1))
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (one.at.timestamp(), one.seconds, one.commands_per_s, one.conflicts_per_s)
        for one in merged(rates, since=since, until=until)
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((100, 100), (150, 100), [[50, 0]]),
        # 2^32 - 10 and 20 more pass 32 bits
        ((2**32 - 10, 5), (10, 6), [[20, 1]]),
        ((100, 100), (7, 3), []),
        ((100, None), (150, 100), []),
    ],
    ids=["grows", "wraps", "starts again", "not sent"],
)
def test_growth_of_two_readings(
    before: tuple[int | None, ...], after: tuple[int | None, ...], expected: list[list[int]]
) -> None:
    rows = [
        Reading(at=EPOCH, counters=before),
        Reading(at=EPOCH + timedelta(seconds=10), counters=after),
    ]

    assert in_columns(rows).growth.tolist() == expected
