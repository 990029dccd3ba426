"""Times as the database keeps them, and the edges of a span."""

from datetime import UTC, datetime

import numpy as np

from ingest.core.growth_columns import GrowthColumns, merged_columns
from ingest.core.microseconds import microseconds, moment

# 2001-09-09 01:46:40 UTC is 10^9 seconds after 1970.
BILLIONTH_SECOND = datetime(2001, 9, 9, 1, 46, 40, 7, tzinfo=UTC)


def test_moment_and_microseconds_are_each_others_inverse() -> None:
    assert moment(10**15 + 7) == BILLIONTH_SECOND
    assert microseconds(BILLIONTH_SECOND) == 10**15 + 7


def test_span_leaves_out_its_first_moment_and_has_its_last() -> None:
    intervals = GrowthColumns(
        at_us=np.array([10, 20, 30, 40]),
        interval_us=np.full(4, 10),
        growth=np.arange(4).reshape(4, 1),
    )

    found = merged_columns([intervals], since_us=10, until_us=30, width=1)

    assert found.at_us.tolist() == [20, 30]
    assert found.growth.tolist() == [[1], [2]]
