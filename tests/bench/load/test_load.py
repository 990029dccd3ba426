"""What the load sends and reports is what the product takes, and figures are counted right."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.load import client
from bench.load.client import Answered
from bench.load.figures import exchange_rows, held, memory_rows
from bench.load.fleet import SERIES, body
from bench.load.memory import MB, Look, slope_mb_per_hour
from bench.load.reports import Reports
from enforcers.contract import Outcome, decode_report
from enforcers.wire_signatures import read_report_signature, report_message
from ingest.core.batch import Rules, read_batch
from ingest.core.line_protocol import Precision
from ingest.sources.registry import find_head
from tests.enforcers.policies import document, group

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
RULES = Rules(
    precision=Precision.NS, now_ns=0, earliest_ns=0, latest_ns=2**63, too_early="", too_late=""
)


def test_body_of_a_host_makes_ten_series_and_nothing_is_refused() -> None:
    batch = read_batch(body("load-0001", 1, 1_772_600_000), RULES, find_head)

    assert not batch.rejections
    assert len(batch.series) == SERIES


def test_counters_of_a_later_body_are_larger() -> None:
    def reads(at_s: int) -> int:
        return int(body("h", 0, at_s).split(b"reads=")[1].split(b"i")[0])

    # 200 reads a second.
    assert reads(1_772_600_010) - reads(1_772_600_000) == 2_000


def test_report_tells_of_each_allocation_at_its_time_and_its_signature_fits() -> None:
    reports = Reports("h1", bytes(range(32)))
    held = document(group("/machine.slice/w0.scope"), group("/machine.slice/w1.scope"))

    first, _ = reports.report(held, AT)
    later, header = reports.report(held, AT + timedelta(seconds=30))

    found = decode_report(later)
    assert [found.reported_at - decode_report(first).reported_at, found.revision] == [
        timedelta(seconds=30), held.revision
    ]  # fmt: skip
    assert [(one.id, one.outcome) for one in found.allocations] == [
        (one.id, Outcome.UNCHANGED) for one in held.allocations
    ]
    signed = read_report_signature(header)
    KEY.public_key().verify(signed.signature, report_message(later, number=signed.number))


def test_moments_keep_the_period_and_leave_out_what_passed(monkeypatch) -> None:
    clock = iter([100.0, 110.5, 155.0, 160.0])
    monkeypatch.setattr(client.time, "monotonic", lambda: next(clock))

    found = list(itertools.islice(client._moments(100.0, 1_000.0, 10.0), 4))

    # At 155 the moments of 130 and 140 have passed; that of 150 is late and counts.
    assert found == [100.0, 110.0, 120.0, 150.0]


def answers(lags_s: list[float], *, status: int = 200) -> list[Answered]:
    return [Answered(what="document", due_s=0.0, lag_s=lag_s, status=status) for lag_s in lags_s]


def test_what_was_due_and_not_answered_well_is_counted() -> None:
    found = held("document", answers([0.1] * 97) + answers([0.1], status=503), due=100)

    refused, lag = exchange_rows([found])
    # One was refused and two were not asked in time.
    assert (refused.measured, refused.holds) == (3, False)
    assert (lag.measured, lag.holds) == (0.1, True)


def test_lag_is_the_99th_percentile_and_below_the_period() -> None:
    found = held("document", answers([0.2] * 98 + [10.0, 11.0]), due=100)

    _, lag = exchange_rows([found])

    assert (lag.measured, lag.holds) == (10.0, False)


def looks(sizes_mb: list[float]) -> list[Look]:
    return [
        Look(at_s=360.0 * number, database_bytes=0, others_bytes=round(size * MB))
        for number, size in enumerate(sizes_mb)
    ]


def test_slope_is_of_the_line_that_fits() -> None:
    # 360 s are a tenth of an hour.
    assert slope_mb_per_hour(looks([100, 101, 102, 103])) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("sizes_mb", "holds"), [([100, 110, 110, 112], True), ([100, 110, 110, 120], False)]
)
def test_memory_may_grow_by_a_twentieth_of_its_most_in_the_second_half(sizes_mb, holds) -> None:
    rows = {row.what: row for row in memory_rows(looks(sizes_mb))}

    grown = rows["growth of its most memory, second half of the time beside the first"]
    assert grown.holds is holds
    assert rows["memory of the product at the end"].measured == sizes_mb[-1]
