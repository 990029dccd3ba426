"""The address holds the range: what can be read is shown, what cannot says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.time_range import LENGTHS, LONGEST, read_time_range

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(("name", "length"), LENGTHS.items())
def test_named_range_ends_now_and_is_live(name: str, length: timedelta) -> None:
    shown = read_time_range({"range": name}, now=NOW)

    assert (shown.since, shown.until, shown.is_live) == (NOW - length, NOW, True)


def test_absent_range_is_the_last_hour() -> None:
    assert read_time_range({}, now=NOW).since == NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    "text",
    ["2026-11-20T10:00:00Z", "2026-11-20T10:00:00", "2026-11-20T11:00:00+01:00"],
    ids=["zulu", "no zone", "another zone"],
)
def test_time_without_a_zone_is_utc_and_zones_are_understood(text: str) -> None:
    shown = read_time_range({"from": text, "to": "2026-11-20T11:00:00Z"}, now=NOW)

    assert shown.since == datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
    assert not shown.is_live


def test_range_without_an_end_ends_now() -> None:
    assert read_time_range({"from": "2026-11-20T10:00:00Z"}, now=NOW).until == NOW


@pytest.mark.parametrize(
    "query",
    [
        {"range": "2y"},
        {"from": "yesterday"},
        {"from": "2026-11-20T11:00:00Z", "to": "2026-11-20T10:00:00Z"},
        {"from": "2020-01-01", "to": "2026-01-01"},
        {"from": "0001-01-01T00:00:00+14:00"},
    ],
    ids=["unknown name", "no time", "backwards", "too long", "before time"],
)
def test_unusable_range_falls_back_and_says_why(query: dict[str, str]) -> None:
    shown = read_time_range(query, now=NOW)

    assert shown.problem
    assert shown.since == NOW - timedelta(hours=1)


@given(st.dictionaries(st.sampled_from(["range", "from", "to"]), st.text(max_size=30)))
def test_any_text_gives_a_usable_range(query: dict[str, str]) -> None:
    shown = read_time_range(query, now=NOW)

    assert timedelta(0) < shown.until - shown.since <= LONGEST
