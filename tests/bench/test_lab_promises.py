"""CI fails on a promise of the casebook that is broken, and on no figure of predictions."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.core.casebook.bundle import Truth
from advisor.core.casebook.score import Case, Found, score
from bench.lab.promises import PROMISES, broken

KEPT = {
    "congestion found": 1.0,
    "stalls found as such": 1.0,
    "workloads that did nothing and are named": 0,
    "culprit named first": 0.96,
    "uplinks: headline, median error": 9.0,
}


def rows(**changed: float | None) -> list[dict[str, Any]]:
    names = {name.split()[0]: name for name in KEPT}
    values = KEPT | {names[short]: value for short, value in changed.items()}
    return [{"what": what, "measured": measured} for what, measured in values.items()]


def test_bad_predictions_break_no_promise() -> None:
    assert broken(rows()) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"congestion": 0.98}, "congestion found: 0.98 is not within 1 to 1"),
        ({"stalls": 0.75}, "stalls found as such: 0.75 is not within 1 to 1"),
        ({"stalls": None}, "stalls found as such: None is not within 1 to 1"),
        ({"workloads": 1}, "workloads that did nothing and are named: 1 is not within 0 to 0"),
        ({"culprit": 0.9}, "culprit named first: 0.9 is not within 0.95 to 1"),
    ],
)
def test_broken_promise_is_named(changed: dict[str, float | None], said: str) -> None:
    assert broken(rows(**changed)) == [said]


def test_promises_are_of_rows_that_there_are() -> None:
    truth = Truth(is_congested=False, culprit=None, victims=())
    calm = Case(name="calm", truth=truth, found=Found(incidents=()))

    assert set(PROMISES) <= {one.what for one in score([calm])}
    assert broken([]) != []
