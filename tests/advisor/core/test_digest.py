"""A digest is sent at its times, whatever clocks are changed to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.digest import Digest, Rhythm, digest_words, problems_of_digest

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
HOUR = timedelta(hours=1)
YEAR = datetime(2026, 1, 1, tzinfo=UTC)
moments = st.timedeltas(timedelta(), timedelta(days=365)).map(lambda passed: YEAR + passed)


@given(after=moments, zone=st.sampled_from(ZONES[:4]))
def test_each_full_hour_of_the_zone_is_one(after: datetime, zone: str) -> None:
    found = Digest(rhythm=Rhythm.HOUR, zone=zone).first_at(after)

    assert timedelta() <= found - after < HOUR
    local = found.astimezone(ZoneInfo(zone))
    assert (local.minute, local.second, local.microsecond) == (0, 0, 0)


@given(after=moments, zone=st.sampled_from(ZONES), hour=st.integers(0, 23))
def test_each_day_has_one_at_its_hour(after: datetime, zone: str, hour: int) -> None:
    digest = Digest(rhythm=Rhythm.DAY, hour=hour, zone=zone)
    found = digest.first_at(after)

    assert timedelta() <= found - after <= 25 * HOUR
    following = digest.first_at(found + timedelta(microseconds=1))
    assert following.astimezone(ZoneInfo(zone)).date() - found.astimezone(
        ZoneInfo(zone)
    ).date() == timedelta(days=1)


@pytest.mark.parametrize(
    ("zone", "hour", "after", "found"),
    [
        ("Europe/Berlin", 7, "2026-07-01T05:00", "2026-07-01T05:00"),
        ("Europe/Berlin", 7, "2026-07-01T05:01", "2026-07-02T05:00"),
        # There is no half past two that night: what would be 02:00 is 03:00.
        ("Europe/Berlin", 2, "2026-03-28T12:00", "2026-03-29T01:00"),
        # Of the two that there are that night, the first.
        ("Europe/Berlin", 2, "2026-10-24T12:00", "2026-10-25T00:00"),
    ],
)
def test_days_go_by_the_clock_of_the_zone(zone: str, hour: int, after: str, found: str) -> None:
    digest = Digest(rhythm=Rhythm.DAY, hour=hour, zone=zone)

    assert digest.first_at(datetime.fromisoformat(f"{after}Z")) == datetime.fromisoformat(
        f"{found}Z"
    )


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (Digest(rhythm=Rhythm.DAY, hour=24), "24"),
        (Digest(rhythm=Rhythm.DAY, hour=-1), "-1"),
        (Digest(rhythm=Rhythm.HOUR, zone="Mars"), "Mars"),
    ],
)
def test_digest_that_cannot_be_is_told_why(wrong: Digest, word: str) -> None:
    (problem,) = problems_of_digest(wrong)

    assert word in problem


@pytest.mark.parametrize(
    ("digest", "words"),
    [
        (None, "at once"),
        (Digest(rhythm=Rhythm.HOUR), "each hour"),
        (Digest(rhythm=Rhythm.DAY, zone="Europe/Berlin"), "each day at 07:00 (Europe/Berlin)"),
    ],
)
def test_when_it_sends_is_said_in_words(digest: Digest | None, words: str) -> None:
    assert digest_words(digest) == words
