"""What is too old to speak for now, and in which words."""

from datetime import UTC, datetime, timedelta

import pytest

from advisor.core.freshness import STALE_AFTER, evaluation_gap, sample_gap

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (timedelta(0), ""),
        (STALE_AFTER, ""),
        (STALE_AFTER + timedelta(seconds=1), "2 min"),
        (timedelta(minutes=11, seconds=30), "11 min"),
        (timedelta(hours=3, minutes=5), "3 h 5 min"),
        # The clock of the host is ahead.
        (timedelta(minutes=-9), ""),
    ],
    ids=["now", "two minutes", "longer", "minutes", "hours", "ahead"],
)
def test_what_is_too_old_is_told_with_its_age(age: timedelta, said: str) -> None:
    evaluated = f"not evaluated for {said} (background worker is behind)" if said else ""
    sent = f"no samples for {said}" if said else ""

    assert evaluation_gap(NOW - age, now=NOW) == evaluated
    assert sample_gap(NOW - age, now=NOW) == sent


def test_what_never_was_is_no_age() -> None:
    assert evaluation_gap(None, now=NOW) == (
        "not evaluated yet (is the background worker running?)"
    )
    assert sample_gap(None, now=NOW) == "no samples yet"
