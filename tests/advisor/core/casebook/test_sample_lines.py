"""Counters of a bundle as lines: read again they grow as they did, and gaps stay gaps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.casebook.bundle import KNOWN_MS, CapturedSubject, Track, parts_of
from advisor.core.casebook.sample_lines import lines_of
from ingest.core.figures import CGROUP_IO
from ingest.core.grid import NOT_SENT, Readings, grid_of, on_grid

SINCE = datetime(2001, 1, 1, tzinfo=UTC)
WINDOW = timedelta(seconds=10)


@given(
    st.lists(
        st.one_of(st.none(), st.tuples(*[st.integers(0, 10**9)] * 4)), min_size=1, max_size=30
    )
)
def test_what_is_sent_grows_as_it_did(windows: list[tuple[int, ...] | None]) -> None:
    grid = grid_of(SINCE, SINCE + len(windows) * WINDOW, 10.0)
    known = np.array([[10_000 if one is not None else -1] for one in windows])
    grown = np.array([one if one is not None else (-1,) * 4 for one in windows])
    parts = [*parts_of(known, KNOWN_MS)]
    for counter in range(4):
        parts += parts_of(grown[:, [counter]], counter)
    subject = CapturedSubject(host="h", name="/c", device="8:0")
    track = Track(kind=CGROUP_IO.name, subjects=(subject,), parts=tuple(parts))

    lines = list(lines_of(track, grid))

    at_us = np.array([int(line.rsplit(" ", 1)[1]) // 1000 for line in lines], dtype=np.int64)
    values = np.array(
        [[int(one.split("=")[1][:-1]) for one in line.split(" ")[1].split(",")] for line in lines],
        dtype=np.int64,
    ).reshape(-1, 4)
    found = on_grid(
        Readings(series=np.zeros(len(lines), dtype=np.int64), at_us=at_us, values=values),
        grid,
        series_count=1,
        counters=4,
    )
    assert ((found.seconds[:, 0] > 0) == (known[:, 0] > 0)).all()
    expected = np.where(known > 0, grown, 0)
    assert (expected == found.growth[:, :, 0].T).all()
    assert NOT_SENT not in values
