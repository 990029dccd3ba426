"""The demo's outcome for people."""

from appliance.demo.experiment import Outcome, Row

HEADS = ("workload", "reserved", "before", "entitled", "measured", "expected", "compliance",
         "verdict")  # fmt: skip
WORDS = ("workload", "compliance", "verdict")


def table(outcome: Outcome) -> str:
    """Rates in Mbit/s under their heads, then what became of the kernel."""
    cells = [HEADS, *(_cells(row) for row in outcome.rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    lines = [
        "  ".join(
            cell.ljust(width) if head in WORDS else cell.rjust(width)
            for head, cell, width in zip(HEADS, line, widths, strict=True)
        ).rstrip()
        for line in cells
    ]
    found = "as it was found" if outcome.restored else "NOT as it was found"
    verdict = "every verdict is met" if outcome.is_met else "NOT every verdict is met"
    return "\n".join(
        [
            f"Mbit/s on {outcome.ran_on}",
            *lines,
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
