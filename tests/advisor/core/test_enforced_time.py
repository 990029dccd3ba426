"""Only reports prove that a policy was enforced, and only between two of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.enforced_time import HostReport, common_stretches, enforced_stretches

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
GAP = timedelta(minutes=3)


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def reports(*told: tuple[float, str]) -> list[HostReport]:
    return [
        HostReport(at=at(minute), holds=outcome != "failed", untouched=outcome == "unchanged")
        for minute, outcome in told
    ]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([], []),
        ([(0, "applied")], []),
        ([(0, "applied"), (1, "unchanged"), (2, "unchanged")], [(0, 2)]),
        ([(0, "unchanged"), (1, "failed"), (2, "applied"), (3, "unchanged")], [(2, 3)]),
        # Somebody changed it between 1 and 2; the agent put it right at 2.
        ([(0, "applied"), (1, "unchanged"), (2, "drifted"), (3, "unchanged")], [(0, 1), (2, 3)]),
        # Four minutes without a report prove nothing.
        ([(0, "applied"), (1, "unchanged"), (5, "unchanged"), (6, "unchanged")], [(0, 1), (5, 6)]),
    ],
    ids=["no report", "one report", "steady", "failed between", "drift", "silence"],
)
def test_time_between_reports_counts_where_both_prove_it(
    told: list[tuple[float, str]], expected: list[tuple[float, float]]
) -> None:
    found = enforced_stretches(reports(*told), longest_gap=GAP)

    assert found == tuple((at(since), at(until)) for since, until in expected)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], []),
        ([[(0, 9)]], [(0, 9)]),
        ([[(0, 9)], []], []),
        ([[(0, 4), (6, 9)], [(3, 7)]], [(3, 4), (6, 7)]),
        ([[(0, 4)], [(4, 8)]], []),
    ],
    ids=["no host", "one host", "one never", "both at times", "one after the other"],
)
def test_all_hosts_have_to_enforce_it_at_once(
    hosts: list[list[tuple[int, int]]], expected: list[tuple[int, int]]
) -> None:
    def timed(stretches: list[tuple[int, int]]) -> tuple[tuple[datetime, datetime], ...]:
        return tuple((at(since), at(until)) for since, until in stretches)

    assert common_stretches([timed(host) for host in hosts]) == timed(expected)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["applied", "unchanged", "failed"])))
)
def test_stretches_are_apart_in_order_and_end_at_reports(told: list[tuple[int, str]]) -> None:
    rows = reports(*told)

    found = enforced_stretches(rows, longest_gap=GAP)

    times = {row.at for row in rows}
    ends = [end for stretch in found for end in stretch]
    assert ends == sorted(ends)
    assert set(ends) <= times
