"""Played rates do not go beyond what an allocation wanted; latency is played without bounds."""

from datetime import UTC, datetime, timedelta

import pytest

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.counterfactual import PlayedAllocation, counterfactual
from advisor.core.forecast.past import HistoryWindow, Past, StoredPast, bounded, bounds_of
from advisor.core.grant import Grant

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
CALM, CROWDED = 40, 40
ALLOCATIONS = [PlayedAllocation(allocation=n, workload=f"w{n}", host="h1") for n in (1, 2)]
SHARES = Comparison(
    mode=ReservationMode.FLOOR,
    before=[Grant(allocation=n, reservation=0.0, limit=None, shares=1000) for n in (1, 2)],
    after=[
        Grant(allocation=1, reservation=0.0, limit=None, shares=4000),
        Grant(allocation=2, reservation=0.0, limit=None, shares=1000),
    ],
    before_as_measured=True,
)


def past(*, got=200.0, calm=CALM):
    """The first takes 300 when all is calm and `got` of 1,000 when the second crowds it out."""
    rows = [(300.0, 100.0)] * calm + [(got, 1000.0 - got)] * CROWDED
    return Past.of(
        StoredPast(
            windows=tuple(
                HistoryWindow(
                    at=START + timedelta(minutes=index),
                    window_s=60.0,
                    capacity=1000.0,
                    demands=row if index < calm else (None, None),
                )
                for index, row in enumerate(rows)
            ),
            congested=(False,) * calm + (True,) * CROWDED,
            rates=tuple(rows),
            latency_ms=(5.0,) * calm + (40.0,) * CROWDED,
        )
    )


def first_under_more_shares(bounds):
    found = counterfactual(ALLOCATIONS, past(), SHARES, bounds=bounds)
    return found.allocations[0]


def test_a_allocation_that_is_known_is_played_no_more_than_it_wanted():
    # 4000 of 5000 shares of 1,000 if it wanted them; it wants 1.05 · 300
    assert first_under_more_shares(()).contended.rate_after == pytest.approx(800)
    assert first_under_more_shares(bounds_of(past())).contended.rate_after == pytest.approx(315)


def test_the_latency_of_a_victim_falls_though_its_rate_is_bounded():
    free, held = first_under_more_shares(()), first_under_more_shares(bounds_of(past()))

    # 200 IOPS · 40 ms are 8 outstanding; served at 800 IOPS they wait 10 ms
    assert held.latency.p95_after_ms == pytest.approx(10.0)
    assert held.latency == free.latency


def test_what_a_allocation_wants_is_unknown_if_it_grew_or_was_seldom_calm():
    assert bounds_of(past())[0] == pytest.approx(315)
    assert bounds_of(past(got=400.0))[0] is None
    assert bounds_of(past(calm=29))[0] is None


def test_who_got_more_than_its_bound_wants_at_least_that():
    windows = bounded(past(), [100.0, None]).rows()

    assert windows[-1].demands == (200.0, None)
    assert windows[0].demands == (300.0, 100.0)
