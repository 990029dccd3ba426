"""The fleet's sealed history is what the product makes of the same rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from django.db import connection

from accounts.models import Organisation
from advisor.core.stored_hour import FIVE_MINUTE_SUMS, QUARTER_SUMS
from advisor.history.stored.seal import ready_hours
from bench.fleet import product
from bench.fleet.fill import fill
from bench.fleet.sealed_figures import day_of_counter, hour_of_counter, hour_of_gauge
from bench.fleet.shape import END, FleetShape, History
from tests.bench.committed_rows import clear

SHAPE = FleetShape(workloads=10)
HOUR_S = 3600
# From 20:00 on 13 January, so that the 14th is a whole day of coarse steps.
COARSE_S, FINE_S = 37 * HOUR_S, 3 * HOUR_S
ROWS = History(coarse_s=COARSE_S, fine_s=FINE_S, congested_s=HOUR_S)
SEALED = History(coarse_s=COARSE_S, fine_s=FINE_S, congested_s=HOUR_S, rows_s=HOUR_S)

TRACK = """
    concat_ws(' ', track.kind, host.name, resource.name, track.subject, track.device)
      FROM advisor_history_{level} AS stored
      JOIN advisor_track AS track ON track.id = stored.track_id
      LEFT JOIN ingest_host AS host ON host.id = track.host_id
      LEFT JOIN advisor_resource AS resource ON resource.id = track.resource_id
"""
CHUNKS = """
    SELECT stored.at, stored.figure, shard.kind, resource.name, host.name, encode(data, 'hex')
      FROM advisor_history_chunk AS stored
      JOIN advisor_shard AS shard ON shard.id = stored.shard_id
      LEFT JOIN ingest_host AS host ON host.id = shard.host_id
      LEFT JOIN advisor_resource AS resource ON resource.id = shard.resource_id
     WHERE at >= %(since)s
"""
QUARTERS = f"SELECT at, mean, maximum, {TRACK.format(level='quarter')} WHERE at >= %(since)s"
DAYS = f"""
    SELECT day, figure, mean, maximum, encode(histogram, 'hex'), {TRACK.format(level="day")}
     WHERE day > %(since)s::date
"""


def stored(statement: str) -> list[tuple[Any, ...]]:
    """All rows; those of the first hour are left out by the generator."""
    with connection.cursor() as cursor:
        cursor.execute(statement, {"since": ROWS.first_at + timedelta(hours=1)})
        return sorted(cursor.fetchall(), key=repr)


def test_sealed_fleet_is_what_the_product_makes_of_its_rows(empty: None) -> None:
    fill(SHAPE, ROWS)
    product.seal(Organisation.objects.get(), END)
    of_rows = [stored(one) for one in (CHUNKS, QUARTERS, DAYS)]
    clear()
    fill(SHAPE, SEALED)
    written = [stored(one) for one in (CHUNKS, QUARTERS, DAYS)]

    # 38 hours of 30 figures and two sums of 5 kinds
    assert len(written[0]) == 38 * 40
    assert {row[0] for row in written[2]} == {(END - timedelta(days=1)).date()}
    for found, expected in zip(written, of_rows, strict=True):
        assert found == expected
    assert not ready_hours(Organisation.objects.get(), now=END)


def test_coarse_step_grows_evenly_and_by_whole_numbers() -> None:
    # Four steps of 15 minutes: 900 in one of them is 10 a window, 45 one in every second window.
    growth = np.array([[900, 45, 0, 0]], np.int64)

    found = hour_of_counter(growth, 900)

    assert found.windows[0, :90].tolist() == [10] * 90
    assert set(found.windows[0, 90:180].tolist()) == {0, 1}
    assert found.sums[QUARTER_SUMS].tolist() == [[900, 45, 0, 0]]
    # 45 are fifteen in five minutes.
    assert found.sums[FIVE_MINUTE_SUMS].tolist() == [[300] * 3 + [15] * 3 + [0] * 6]
    # 900 in 900 s; ten, and one, in 10 s
    assert found.means[0, :2].tolist() == [1.0, 0.05]
    assert found.maxima[0, :2].tolist() == [1.0, 0.1]


def test_gauge_is_known_for_a_minute_after_its_reading() -> None:
    values, before = np.array([[5, 6, 7, 8]], np.int64), np.array([4], np.int64)

    windows = hour_of_gauge(values, before, 900).windows[0]

    assert windows[:7].tolist() == [4] * 6 + [-1]
    assert windows[89:97].tolist() == [5] * 7 + [-1]


def test_day_of_coarse_steps_knows_its_largest_window() -> None:
    # 96 steps: one of 91 in 90 windows has one of 2 in it
    growth = np.zeros((1, 96), np.int64)
    growth[0, 5] = 91

    found = day_of_counter(growth, 900)

    assert found.maxima.tolist() == [0.2]
    assert found.means.tolist() == [91 / 86_400]
