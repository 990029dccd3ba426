"""What a report says in words: nothing is rounded up to what was not reached."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from advisor.core.reporting.period import read_period
from advisor.core.reporting.promise import PromiseMinutes, added
from advisor.core.reporting.report import (
    Report,
    ReportedIncident,
    ReportedIncidents,
    ReportedWorkload,
)
from advisor.core.reporting.words import THIN, minutes_text, percent_text, words_of, workload_line

NOW = datetime(2026, 11, 23, 6, tzinfo=UTC)


def workload(
    name: str = "db", *, tier: str = "high", asked: float = 0, kept: float = 0
) -> ReportedWorkload:
    minutes = PromiseMinutes(measured=asked, asked=asked, kept=kept)
    gap = "" if asked else "nothing is reserved for it"
    return ReportedWorkload(
        name=name, tier=tier, resources=("nfs-07",), minutes=minutes, lost_min=30.0, incidents=1,
        gap=gap,
    )  # fmt: skip


def report(
    *workloads: ReportedWorkload,
    incidents: tuple[ReportedIncident, ...] = (),
    zone: str = "UTC",
    days: str = "2026-11-20",
) -> Report:
    return Report(
        organisation="Acme",
        subject="all workloads",
        period=read_period(days, ZoneInfo(zone), now=NOW),
        made_at=NOW,
        workloads=workloads,
        minutes=added(one.minutes for one in workloads),
        lost_min=sum(one.lost_min for one in workloads),
        incidents=ReportedIncidents(rows=incidents, count=len(incidents)),
        gaps=(),
    )


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0, "100"), (0.99999, "99.99"), (0.95, "95.00"), (0.29, "29.00")]
)
def test_percent_is_never_rounded_up(ratio: float, text: str) -> None:
    assert percent_text(ratio) == text


@pytest.mark.parametrize(
    ("minutes", "text"), [(0.0, "0"), (0.4, "< 1"), (59.6, "60"), (79486.0, f"79{THIN}486")]
)
def test_minutes_are_whole_and_less_than_one_is_told(minutes: float, text: str) -> None:
    assert minutes_text(minutes) == text


def test_tiers_are_those_of_their_workloads_together() -> None:
    words = words_of(
        report(
            workload("a", asked=60, kept=60),
            workload("b", asked=40, kept=20),
            workload("c", tier="low"),
        )
    )

    # 80 of 100 minutes; nothing of the low tier was asked for
    assert [(one.name, one.places, one.kept, one.missed) for one in words.tiers] == [
        ("high", "2", "80.00", "20"), ("low", "1", "\N{EN DASH}", "0"),
    ]  # fmt: skip
    assert words.tiers[1].gap


def test_names_turn_nothing_around() -> None:
    line = workload_line(workload("web\u202egnp.exe"))

    assert line.name == "webgnp.exe"


def test_hours_of_a_night_that_come_twice_are_told_apart() -> None:
    began = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    twice = tuple(
        ReportedIncident(
            resource="nfs-07", since=at, until=at + timedelta(minutes=5), minutes=5, lost_min=1.0,
            victims=("a", "b", "c", "d", "e"), culprits=(), planned="",
        )
        for at in (began, began + timedelta(hours=1))
    )  # fmt: skip

    words = words_of(report(incidents=twice, zone="Europe/Berlin", days="2026-10-25"))

    assert [one.began for one in words.incidents] == [
        "2026-10-25 02:30 +02", "2026-10-25 02:30 +01",
    ]  # fmt: skip
    assert words.incidents[0].victims == "a, b, c +2 more"
    assert words.incidents[0].culprits == "nobody who can be named"


def test_report_of_nothing_says_so() -> None:
    assert words_of(report()).says == "There is nothing to report. There was no incident."
