"""A week of a datastore that a batch job crowds for an hour, for the tests of limits."""

from datetime import UTC, datetime, timedelta

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.counterfactual import PlayedAllocation
from advisor.core.forecast.limit_judgement import LimitVerdict, judge_limits
from advisor.core.forecast.past import HistoryWindow, Past, StoredPast, windows_between
from advisor.core.grant import Grant
from ingest.core.grid import microseconds

ENDED = datetime(2026, 3, 9, 12, tzinfo=UTC)
ALLOCATIONS = [
    PlayedAllocation(allocation=number, workload=name, host="h1")
    for number, name in enumerate(("db", "app", "batch"), start=1)
]
BATCH = 2


def grants(*, limit: float | None = None) -> list[Grant]:
    """Shares 2000:1000:500, and a limit on the last."""
    return [
        Grant(
            allocation=place + 1,
            reservation=0.0,
            limit=limit if place == BATCH else None,
            shares=s,
        )
        for place, s in enumerate((2000, 1000, 500))
    ]


def week(
    *,
    calm_hours: int = 167,
    busy_minutes: int = 60,
    busy=(200.0, 100.0, 700.0),
    wanted=(None, None, None),
    latency_ms: float | None = 20.0,
) -> Past:
    """Calm hours in which 250 of 1,000 IOPS are asked for, then minutes in which all are."""
    calm = (100.0, 50.0, 100.0)
    began = ENDED - timedelta(minutes=busy_minutes)
    windows = [
        HistoryWindow(
            at=began - timedelta(hours=calm_hours - 1 - hour),
            window_s=3600.0,
            capacity=1000.0,
            demands=calm,
        )
        for hour in range(calm_hours)
    ] + [
        HistoryWindow(
            at=began + timedelta(minutes=minute + 1),
            window_s=60.0,
            capacity=sum(busy),
            demands=wanted,
        )
        for minute in range(busy_minutes)
    ]
    return Past.of(
        StoredPast(
            windows=tuple(windows),
            congested=(False,) * calm_hours + (True,) * busy_minutes,
            rates=(calm,) * calm_hours + (busy,) * busy_minutes,
            latency_ms=()
            if latency_ms is None
            else (2.0,) * calm_hours + (latency_ms,) * busy_minutes,
        )
    )


def history_of(ends, rate, backlogged, *, congested, **known) -> tuple[HistoryWindow, ...]:
    """Windows that end then, one by one."""
    ends_us = np.array([microseconds(at) for at in ends])
    found = windows_between(ends_us, rate, backlogged, congested=np.array(congested), **known)
    return found.rows()


def judged(past: Past, *, limit: float = 250.0) -> LimitVerdict:
    """What the past says about a limit on the batch job."""
    return judge_limits(
        ALLOCATIONS,
        past,
        [BATCH],
        mode=ReservationMode.FLOOR,
        before=grants(),
        after=grants(limit=limit),
    )
