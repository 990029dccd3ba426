"""A window is over at its end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from advisor.history.whole_windows import last_window_end

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(("at_s", "end_s"), [(10, 10), (9, 0), (19.9, 10), (9.9995, 10)])
def test_window_is_over_at_its_end(at_s: float, end_s: float) -> None:
    moment = START + timedelta(seconds=at_s)

    assert last_window_end(moment, 10.0) == START + timedelta(seconds=end_s)
