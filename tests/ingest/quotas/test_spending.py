"""What a process knows of rates, beside others and alone; real valkey, given time."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from django.test import override_settings

from ingest.core.quota.bucket import Bucket, full_bucket
from ingest.core.quota.limits import Limits, Quota
from ingest.quotas import shared_account
from ingest.quotas.shared_account import SharedAccount, report, use_per_s
from ingest.quotas.spending import REPORT_EVERY_S, REPORT_UNLIMITED_EVERY_S, Spending

ORGANISATION = 7
NOBODY_ANSWERS = "redis://127.0.0.1:1/0"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class CountedReports(SharedAccount):
    """The account in valkey, and how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def report(
        self, organisation: int, limits: Limits, used: Mapping[Quota, int]
    ) -> dict[Quota, float] | None:
        self.count += 1
        return super().report(organisation, limits, used)


def process(clock: Clock, organisation: int = ORGANISATION) -> Spending:
    return Spending(organisation, SharedAccount(), clock=clock)


@pytest.mark.valkey
def test_script_computes_what_the_bucket_does(valkey: str) -> None:
    rate, bucket = 1000, None
    for used in (0, 30_000, 29_999, 5, 200_000, 1, 0, 7):
        at, left, _ = report(ORGANISATION, {Quota.POINTS: rate}, {Quota.POINTS: used})
        now_s = float(at)
        before: Bucket = bucket or full_bucket(rate, now_s=now_s)
        bucket = before.at(now_s).less(used)

        # The script keeps thousandths of a point, and the time to a microsecond.
        assert float(left) == pytest.approx(bucket.level, abs=0.05)


@pytest.mark.valkey
def test_points_and_bytes_are_accounts_of_their_own(valkey: str) -> None:
    limits = {Quota.POINTS: 10, Quota.BYTES: 1000}

    used = {Quota.POINTS: 700, Quota.BYTES: 1}
    _, points, size_bytes = report(ORGANISATION, limits, used)

    assert float(points) == pytest.approx(-100, abs=1)
    assert float(size_bytes) == pytest.approx(59_999, abs=1)


@pytest.mark.valkey
def test_what_one_process_used_is_a_debt_for_the_other(valkey: str) -> None:
    clock, limits = Clock(), {Quota.POINTS: 10}
    one, other = process(clock), process(clock)
    assert (one.shortage(limits), other.shortage(limits)) == (None, None)

    # A minute's worth is 600.
    one.use(limits, points=1000, size_bytes=0)
    unaware = other.shortage(limits)
    clock.now_s += 2 * REPORT_EVERY_S
    aware = other.shortage(limits)

    assert unaware is None
    assert aware is not None
    assert aware.quota == Quota.POINTS
    # 400 above, at 10 a second.
    assert aware.wait_s == pytest.approx(40, abs=1)


@pytest.mark.valkey
def test_two_processes_get_no_more_than_one_would(valkey: str) -> None:
    clock, limits = Clock(), {Quota.POINTS: 100}
    processes = [process(clock), process(clock)]
    admitted = 0
    for turn in range(2000):
        clock.now_s += 0.01
        one = processes[turn % 2]
        if one.shortage(limits) is None:
            one.use(limits, points=40, size_bytes=0)
            admitted += 40

    # A burst of 6,000, and little more: the clock of valkey goes on by moments only. What two
    # processes did not tell each other is at most what both admitted in 50 ms, 5 bodies of 40.
    assert 6_000 <= admitted <= 6_000 + 200 + 100 * 10


@pytest.mark.valkey
def test_another_organisation_is_not_concerned(valkey: str) -> None:
    clock, limits = Clock(), {Quota.POINTS: 10}
    greedy, other = process(clock), process(clock, ORGANISATION + 1)

    greedy.use(limits, points=10_000, size_bytes=0)
    clock.now_s += 1

    assert greedy.shortage(limits) is not None
    assert other.shortage(limits) is None


@pytest.mark.valkey
def test_small_bodies_cost_no_round_trip_each(valkey: str) -> None:
    clock, limits = Clock(), {Quota.POINTS: 100_000}
    shared = CountedReports()
    spending = Spending(ORGANISATION, shared, clock=clock)

    # 1,000 bodies of 40 points in one second.
    for _ in range(1000):
        clock.now_s += 0.001
        assert spending.shortage(limits) is None
        spending.use(limits, points=40, size_bytes=4000)

    assert shared.count <= 1 / REPORT_EVERY_S + 1


@pytest.mark.valkey
def test_threads_of_a_process_charge_all_they_use(valkey: str) -> None:
    limits = {Quota.POINTS: 1}
    spending = Spending(ORGANISATION, SharedAccount())

    def body(_: int) -> None:
        spending.shortage(limits)
        spending.use(limits, points=3, size_bytes=0)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(body, range(400)))
    spending._report(limits)

    _, left, _ = report(ORGANISATION, limits, {})
    # A minute's worth is 60, and it fills by one a second.
    assert float(left) == pytest.approx(60 - 1200, abs=20)


@pytest.mark.valkey
def test_other_quota_holds_at_once(valkey: str) -> None:
    clock = Clock()
    spending = process(clock)
    spending.use({Quota.POINTS: 10}, points=1000, size_bytes=0)
    assert spending.shortage({Quota.POINTS: 10}) is not None

    clock.now_s += REPORT_UNLIMITED_EVERY_S

    assert spending.shortage({}) is None
    # What was owed is not remembered for a quota that somebody gives later.
    assert spending.shortage({Quota.POINTS: 10}) is None


def test_without_valkey_a_process_goes_on_alone(caplog: pytest.LogCaptureFixture) -> None:
    clock, limits = Clock(), {Quota.POINTS: 10}
    with (
        override_settings(REDIS_URL=NOBODY_ANSWERS),
        caplog.at_level(logging.WARNING, "ingest.quotas"),
    ):
        spending = process(clock)
        admitted = 0
        for _ in range(1000):
            clock.now_s += 0.1
            if spending.shortage(limits) is None:
                spending.use(limits, points=20, size_bytes=0)
                admitted += 20

    # A burst of 600 and 10 a second for 100 s; the last body may be more than what was left.
    assert 1600 <= admitted <= 1600 + 20
    told = [record.message for record in caplog.records]
    assert told == ["quotas hold for each process alone: the queue's server does not answer"]


def test_without_a_quota_nothing_is_said_of_an_absent_valkey(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with override_settings(REDIS_URL=NOBODY_ANSWERS):
        assert process(Clock()).shortage({}) is None
        assert use_per_s(ORGANISATION) is None

    assert not caplog.records


def test_absent_valkey_is_left_alone_for_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def hangs(*_: Any) -> list[str]:
        tries.append(1)
        raise redis.TimeoutError("it hangs")

    monkeypatch.setattr(shared_account, "report", hangs)
    clock, shared = Clock(), SharedAccount()
    for organisation in range(50):
        assert Spending(organisation, shared, clock=clock).shortage({Quota.POINTS: 1}) is None

    assert len(tries) == 1


@pytest.mark.valkey
def test_use_is_the_mean_of_the_last_whole_minute(
    valkey: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_account, "_minute", lambda: 100)
    for points in (100, 500):
        report(ORGANISATION, {}, {Quota.POINTS: points, Quota.BYTES: 10 * points})
    monkeypatch.setattr(shared_account, "_minute", lambda: 101)

    assert use_per_s(ORGANISATION) == {Quota.POINTS: 10.0, Quota.BYTES: 100.0}
    assert use_per_s(ORGANISATION + 1) == {Quota.POINTS: 0.0, Quota.BYTES: 0.0}
