"""Lengths of time read the same on pages and in the terminal."""

from datetime import timedelta

import pytest

from advisor.core.duration import duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (11_100, "3 h 5 min"),
        (86_400, "1 d"),
        (187_200, "2 d 4 h"),
    ],
)
def test_duration_reads_in_two_units_at_most(seconds, text):
    assert duration_text(timedelta(seconds=seconds)) == text
