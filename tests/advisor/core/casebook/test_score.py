"""The score counts what the truth allows, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.core.casebook.bundle import MeasuredRate, Truth
from advisor.core.casebook.score import Case, Found, ScoreRow, score

CALM = Truth(is_congested=False, culprit=None, victims=())
FULL = Truth(
    is_congested=True,
    culprit="etl",
    victims=("db", "web"),
    measured=(MeasuredRate(workload="db", rate=100.0), MeasuredRate(workload="etl", rate=50.0)),
)


def row(workload: str, rate: float, *, unsure: str = "") -> dict[str, Any]:
    return {
        "workload": workload,
        "predicted_after": rate,
        "interval": {"low": 0.9 * rate, "high": 1.1 * rate, "level": 0.9},
        "unsure": unsure,
    }


def found(*aggressors: str, victims: tuple[str, ...] = (), answer: Any = None) -> Found:
    incidents = 1 if aggressors or victims else 0
    return Found(incidents=incidents, aggressors=aggressors, victims=victims, answer=answer or {})


def measured(*cases: tuple[Truth | None, Found]) -> list[ScoreRow]:
    return score([Case(name="x", truth=truth, found=one) for truth, one in cases])


def test_all_that_is_right_holds() -> None:
    answer = {"allocations": [row("db", 105.0), row("etl", 400.0, unsure="0 of 4 calm windows")]}

    rows = measured((FULL, found("etl", victims=("web", "db"), answer=answer)), (CALM, found()))

    assert [one.measured for one in rows[:3]] == [1.0, 1.0, 1.0]
    # What was not sure was not told.
    assert rows[3].measured == pytest.approx(0.05)
    assert rows[4].measured == pytest.approx(0.05)
    assert [one.holds for one in rows] == [True] * 5 + [False]


def test_what_is_wrong_does_not_hold() -> None:
    rows = measured(
        (FULL, found("db", victims=("web",), answer={"allocations": [row("db", 300.0)]})),
        (CALM, found("etl")),
    )

    assert [one.measured for one in rows] == pytest.approx([0.5, 0.0, 0.5, 2.0, 2.0, 0.0])
    assert not any(one.holds for one in rows)


def test_nothing_is_said_where_nothing_is_known() -> None:
    rows = measured((None, found("etl")))

    assert [(one.measured, one.holds) for one in rows] == [(None, False)] * 6
