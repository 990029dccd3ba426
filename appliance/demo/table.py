"""The demo's result as a table."""

from accounts.table import aligned
from appliance.demo.experiment import Outcome, Row

HEADS = ("workload", "reserved", "before", "entitled", "measured", "expected", "compliance",
         "verdict")  # fmt: skip
WORDS = ("workload", "compliance", "verdict")


def table(outcome: Outcome) -> str:
    """Rates in Mbit/s under their heads, then what became of the kernel."""
    rows = [_cells(row) for row in outcome.rows]
    to_right = [head not in WORDS for head in HEADS]
    found = "as it was found" if outcome.restored else "NOT as it was found"
    verdict = "every verdict is met" if outcome.is_met else "NOT every verdict is met"
    return "\n".join(
        [
            f"Mbit/s on {outcome.ran_on}",
            aligned(HEADS, rows, to_right=to_right),
            f"after the rollback the uplink's traffic control is {found}",
            f"{verdict} ({outcome.seconds:.0f} s)",
        ]
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.workload,
        f"{row.reservation_mbps:.1f}" if row.reservation_mbps else "\N{EN DASH}",
        _rate(row.before_mbps),
        _rate(row.entitled_mbps),
        _rate(row.measured_mbps),
        f"{row.expected_mbps:.1f} ±{row.tolerance_mbps:.1f}",
        row.compliance,
        row.verdict,
    )


def _rate(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:.1f}"
