"""Times as the database keeps them."""

from datetime import UTC, datetime

from ingest.core.microseconds import microseconds, moment

# 2001-09-09 01:46:40 UTC is 10^9 seconds after 1970.
BILLIONTH_SECOND = datetime(2001, 9, 9, 1, 46, 40, 7, tzinfo=UTC)


def test_moment_and_microseconds_are_each_others_inverse() -> None:
    assert moment(10**15 + 7) == BILLIONTH_SECOND
    assert microseconds(BILLIONTH_SECOND) == 10**15 + 7
