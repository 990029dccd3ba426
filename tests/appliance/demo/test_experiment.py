"""How the demo judges what it measured, and what its table says."""

import pytest

from appliance.demo.experiment import SEED_002, Outcome, Row, judge
from appliance.demo.table import table


def row(*, measured: float | None = 80.0, compliance: str = "met") -> Row:
    expected, tolerance = SEED_002.expected_mbps[0], SEED_002.tolerance_mbps
    return Row(
        workload="vm-1",
        reservation_mbps=75.0,
        before_mbps=31.3,
        entitled_mbps=81.3,
        expected_mbps=expected,
        tolerance_mbps=tolerance,
        measured_mbps=measured,
        compliance=compliance,
        verdict=judge(
            measured_mbps=measured,
            expected_mbps=expected,
            tolerance_mbps=tolerance,
            compliance=compliance,
        ),
    )


def outcome(*rows: Row, restored: bool = True) -> Outcome:
    return Outcome(ran_on="a test", rows=rows, restored=restored, seconds=1.0)


@pytest.mark.parametrize(
    ("measured", "compliance", "verdict"),
    [
        # 80.6 Mbit/s, give or take 3 % of 94 Mbit/s: from 77.78 to 83.42.
        (77.8, "met", "met"),
        (83.4, "met", "met"),
        (77.7, "met", "off"),
        (83.5, "met", "off"),
        (80.6, "reservation_unmet", "reservation_unmet"),
        (None, "met", "not measured"),
    ],
)
def test_verdict_needs_the_split_and_the_compliance(measured, compliance, verdict):
    assert row(measured=measured, compliance=compliance).verdict == verdict


@pytest.mark.parametrize(
    ("rows", "restored", "met"),
    [
        ([row(), row()], True, True),
        ([row(), row(measured=50.0)], True, False),
        ([row(), row()], False, False),
    ],
    ids=["all met", "one off", "not restored"],
)
def test_outcome_is_met_when_all_verdicts_are_and_the_kernel_is_restored(rows, restored, met):
    assert outcome(*rows, restored=restored).is_met is met


def test_table_shows_a_missing_rate_as_a_dash():
    line = table(outcome(row(measured=None))).splitlines()[2]

    assert line.split() == [
        "vm-1", "75.0", "31.3", "81.3", "–", "80.6", "±2.8", "met", "not", "measured",
    ]  # fmt: skip


def test_table_says_aloud_when_something_is_not_met():
    text = table(outcome(row(measured=50.0), restored=False))

    assert "NOT every verdict is met" in text
    assert "NOT as it was found" in text
