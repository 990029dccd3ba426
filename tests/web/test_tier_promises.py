"""What the overview tells of promises by tier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor.core.reporting.period import Period
from advisor.history.own_windows import read_own_windows
from advisor.models import Allocation, Tier
from advisor.queries.report import read_report
from advisor.queries.report_subject import ReportSubject
from advisor.queries.scope import Scope
from advisor.queries.tier_promises import tier_promises
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


def promises(viewer: Client) -> Page:
    return page_of(viewer.get("/", {"part": "promises"}, headers={"HX-Request": "true"}))


def test_overview_does_not_wait_for_promises_and_asks_for_them(
    viewer: Client, fleet: Fleet
) -> None:
    part = page_of(viewer.get("/")).find("div", id="overview-promises")

    assert part["hx-trigger"].startswith("load, ")
    assert not part.elements_of("table")


def test_browser_without_scripts_is_shown_promises(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get("/?promises=1"))

    assert page.find("div", id="overview-promises").elements_of("table")


def statements(ask: Callable[[], object]) -> int:
    cache.clear()
    with CaptureQueriesContext(connection) as captured:
        ask()
    return len(captured)


def test_more_workloads_ask_no_more_statements(viewer: Client, fleet: Fleet) -> None:
    before = statements(lambda: promises(viewer))
    for number in range(20):
        fleet.add_allocation(
            fleet.resources["nfs-07"], f"vm-{number}", "kvm-01", Tier.LOW, reservation=1.0
        )

    assert statements(lambda: promises(viewer)) <= before


def test_samples_of_who_has_a_limit_alone_are_not_read(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be most of a fleet, and a limit is no promise that could be kept."""
    limited = fleet.add_allocation(
        fleet.resources["nfs-07"], "vm-1", "kvm-01", Tier.LOW, limit=100.0
    )
    promised = fleet.add_allocation(
        fleet.resources["nfs-07"], "vm-2", "kvm-01", Tier.LOW, reservation=1.0
    )
    asked: set[int] = set()

    def noted(allocations: Sequence[Allocation], *rest: Any, **more: Any) -> Any:
        asked.update(one.pk for one in allocations)
        return read_own_windows(allocations, *rest, **more)

    monkeypatch.setattr("advisor.queries.report_minutes.read_own_windows", noted)
    scope = Scope(user=fleet.people.viewer, organisation=fleet.organisation)
    tier_promises(scope, now=fleet.now)

    assert promised.pk in asked
    assert limited.pk not in asked


def test_promises_by_tier_are_those_of_a_report_of_the_same_day(fleet: Fleet) -> None:
    scope = Scope(user=fleet.people.viewer, organisation=fleet.organisation)
    until = fleet.now.replace(second=0, microsecond=0)
    period = Period(
        first=(until - DAY).date(), last=until.date(), zone="UTC",
        since=until - DAY, until=until, is_over=True,
    )  # fmt: skip
    report = read_report(ReportSubject(organisation=fleet.organisation), period, now=fleet.now)

    found = {one.tier: one for one in tier_promises(scope, now=fleet.now)}

    assert found
    for tier, one in found.items():
        lines = [line for line in report.workloads if line.tier == tier]
        assert one.workloads == len(lines)
        assert one.minutes.asked == sum(line.minutes.asked for line in lines)
        assert one.minutes.kept == sum(line.minutes.kept for line in lines)
        assert one.lost_min == pytest.approx(sum(line.lost_min for line in lines))
    assert any(one.minutes.asked for one in found.values())


def test_percentage_is_that_of_the_minutes_asked_for(viewer: Client, fleet: Fleet) -> None:
    scope = Scope(user=fleet.people.viewer, organisation=fleet.organisation)
    (first, *_) = [one for one in tier_promises(scope, now=fleet.now) if one.minutes.asked]

    assert first.kept_percent == pytest.approx(100 * first.minutes.kept / first.minutes.asked)
    assert replace(first, minutes=type(first.minutes)()).kept_percent is None
    assert f"{first.kept_percent:.1f} %" in promises(viewer).find("table").all_text()
