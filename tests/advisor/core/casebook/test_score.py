"""The score counts what the truth allows, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from advisor.core.casebook.bundle import MeasuredRate, Truth
from advisor.core.casebook.score import FEWEST_RATES, Case, Found, FoundIncident, ScoreRow, score

BEGAN = datetime(2001, 1, 1, 1, tzinfo=UTC)
STALLS = "stalls found as such"
IDLE = "workloads that did nothing and are named"
CALM = Truth(is_congested=False, culprit=None, victims=())


def granted(workload: str, rate: float) -> MeasuredRate:
    return MeasuredRate(workload=workload, rate=rate, reservation=100.0, limit=None, shares=1000)


FULL = Truth(
    is_congested=True,
    culprit="etl",
    victims=("db", "web"),
    measured=(granted("db", 100.0), granted("etl", 50.0)),
    began_at=BEGAN,
)


def row(workload: str, rate: float, *, unsure: str = "", shares: int = 1000) -> dict[str, Any]:
    return {
        "workload": workload,
        "reservation": 101.0,
        "limit": None,
        "shares": shares,
        "predicted_before": 0.5 * rate,
        "predicted_after": rate,
        "interval": {"low": 0.9 * rate, "high": 1.1 * rate, "level": 0.9},
        "unsure": unsure,
    }


ADVICE = (row("db", 105.0), row("etl", 55.0, unsure="0 of 4 calm windows"))
INCIDENT = FoundIncident(began_at=BEGAN, ended_at=None)


def found(
    *aggressors: str, victims: tuple[str, ...] = (), rows: tuple[dict[str, Any], ...] = ()
) -> Found:
    return Found(
        incidents=(INCIDENT,) if aggressors else (),
        aggressors=aggressors,
        victims=victims,
        answer={"allocations": rows, "lead": "db"} if rows else {},
    )


def measured(*cases: tuple[Truth | None, Found]) -> list[ScoreRow]:
    return score([Case(name="x", truth=truth, found=one, kinds="disks") for truth, one in cases])


def by_what(rows: list[ScoreRow]) -> dict[str, ScoreRow]:
    return {one.what.removeprefix("disks: "): one for one in rows}


def test_all_that_is_right_holds() -> None:
    right = (FULL, found("etl", victims=("web", "db"), rows=ADVICE))

    rows = measured(*[right] * FEWEST_RATES, (CALM, found()))

    # What was not sure was not told.
    stalls, *others, _ = sorted(rows, key=lambda one: one.what != STALLS)
    assert (stalls.measured, stalls.holds) == (None, False)
    assert [one.measured for one in others] == pytest.approx(
        # The incidents; told as sure, its errors, the headline's, the aggressor's; bias, ranges
        [1, 0, 1, 1, 1, 0, 0.5, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1, -0.05, 1]
    )
    # More than 95 % within are too many: ranges are too wide.
    assert [one.holds for one in others] == [True] * 6 + [False] + [True] * 7 + [False]


@pytest.mark.parametrize(
    ("incidents", "measured_part"),
    [((replace(INCIDENT, is_stalled=True),), 1.0), ((INCIDENT,), 0.0), ((), 0.0)],
)
def test_a_stall_counts_as_found_only_as_one(
    incidents: tuple[FoundIncident, ...], measured_part: float
) -> None:
    hung = Truth(is_congested=True, culprit=None, victims=(), began_at=BEGAN, is_stalled=True)

    rows = measured((hung, Found(incidents=incidents)), (FULL, found("etl")))

    (stalls,) = (one for one in rows if one.what == STALLS)
    assert (stalls.measured, stalls.note) == (measured_part, "of 1 stalls")


def test_what_is_wrong_does_not_hold() -> None:
    wrong = found("db", victims=("web", "etl"), rows=(row("db", 300.0), row("etl", 100.0)))

    rows = measured(*[(FULL, wrong)] * FEWEST_RATES, (CALM, found("etl")))[:-1]

    assert [one.measured for one in rows if one.what != STALLS] == pytest.approx(
        [1, 1, 0, 0.5, 0.5, 0, 1, 1.5, 2, 2, 2, 1, 1, -1.5, 0]
    )
    assert [one.what for one in rows if one.holds] == [
        "congestion found",
        IDLE,
        "disks: rates told as sure, of those measured under a policy",
    ]


def test_rates_of_few_predictions_do_not_hold() -> None:
    right = (FULL, found("etl", victims=("web", "db"), rows=ADVICE))

    rows = by_what(measured(*[right] * (FEWEST_RATES - 1)))

    median = rows["rates told as sure, median error"]
    assert (median.measured, median.holds) == (pytest.approx(0.05), False)
    assert median.note == "of 19 rates, all from bundles; 20 are needed"


@pytest.mark.parametrize(("count", "holds"), [(11, False), (12, True)])
def test_headlines_of_twelve_incidents_are_enough(count: int, holds: bool) -> None:
    rows = by_what(measured(*[(FULL, found("etl", rows=ADVICE))] * count))

    assert rows["headline, median error"].holds is holds
    assert rows["aggressor's rate, 90th percentile of the error"].holds is holds


def test_kinds_of_resources_are_told_apart() -> None:
    told = found("etl", rows=ADVICE)
    cases = [Case(name=one, truth=FULL, found=told, kinds=one) for one in ("disks", "uplinks")]

    rows = score(cases)

    for kinds in ("disks", "uplinks"):
        (part,) = (one for one in rows if one.what.startswith(f"{kinds}: rates told as sure, of"))
        assert part.note == "of 2 rates; 1 of 1 bundles are advised that policy"


def test_latencies_are_scored_where_they_were_measured() -> None:
    waits = {"latency_ms": 12.0, "latency_interval": {"low": 9.0, "high": 11.0, "level": 0.8}}
    told = found("etl", rows=({**ADVICE[0], **waits}, {**ADVICE[1], **waits}))
    # 12 ms were told of both: of one 10 were measured, of the other nobody knows
    truth = replace(FULL, measured=(replace(FULL.measured[0], latency_ms=10.0), FULL.measured[1]))

    rows = by_what(measured(*[(truth, told)] * FEWEST_RATES))

    assert rows["latency, median error"].measured == pytest.approx(0.2)
    assert rows["latency, median error"].holds
    assert rows["latencies within the ranges told"].measured == 1.0
    assert "latency, median error" not in by_what(measured((FULL, told)))


@pytest.mark.parametrize(("victims", "count"), [(("db",), 0), (("db", "ring"), 1)])
def test_who_did_nothing_is_not_to_be_named(victims: tuple[str, ...], count: int) -> None:
    rows = ({**row("db", 105.0), "measured": 60.0}, {**row("ring", 0.0), "measured": 0.0})

    (idle,) = (
        one
        for one in measured((FULL, found("etl", victims=victims, rows=rows)))
        if one.what == IDLE
    )

    assert (idle.measured, idle.holds, idle.note) == (count, count == 0, "of 1 workloads")


def test_effect_of_another_policy_says_nothing_of_this_advice() -> None:
    other = (row("db", 105.0), row("etl", 400.0, shares=2000))

    rows = measured((FULL, found("etl", rows=other)), (FULL, found("etl", rows=ADVICE)))

    told = by_what(rows)["rates told as sure, of those measured under a policy"]
    assert told.measured == 0.25
    assert told.note == "of 4 rates; 1 of 2 bundles are advised that policy"


def test_incident_before_anything_was_planted_is_a_false_alarm() -> None:
    early = FoundIncident(
        began_at=BEGAN - timedelta(minutes=9), ended_at=BEGAN - timedelta(minutes=1)
    )

    both = measured((FULL, replace(found("etl"), incidents=(early, INCIDENT))))
    only = measured((FULL, replace(found("etl"), incidents=(early,))))

    assert [one.measured for one in both[:2]] == [1.0, 1.0]
    assert [one.measured for one in only[:2]] == [0.0, 1.0]


def test_nothing_is_said_where_nothing_is_known() -> None:
    rows = measured((None, found("etl")))

    assert [(one.measured, one.holds) for one in rows] == [(None, False)] * 7


@pytest.mark.parametrize(
    ("before", "holds"), [(50.0, True), (100.5, False)], ids=["much changed", "hardly anything"]
)
def test_range_is_scored_beside_saying_that_nothing_changes(before: float, holds: bool) -> None:
    told = {**row("db", 105.0), "predicted_before": before}
    right = (FULL, found("etl", rows=(told, ADVICE[1])))

    crps = measured(*[right] * FEWEST_RATES)[-1]

    # Evenly within 94.5 to 115.5, a tenth at the ends: about 3 off the 100 that were measured.
    assert crps.measured == pytest.approx(3.5 / abs(100.0 - before), rel=0.3)
    assert crps.holds is holds
    assert crps.note.startswith(f"of {FEWEST_RATES} rates, all from bundles; ")
