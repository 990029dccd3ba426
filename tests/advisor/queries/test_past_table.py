"""The verdict of a backtest in a sentence."""

from advisor.core.forecast.backtest import Change
from advisor.core.forecast.counterfactual import unknown_latency
from advisor.queries.past_table import PastRow, PastTable


def row(workload: str, change: Change) -> PastRow:
    return PastRow(
        workload=workload,
        host="h1",
        change=change,
        rate_before=None,
        rate_after=None,
        interval=None,
        past=None,
        latency=unknown_latency("an uplink"),
        latency_interval=None,
        interval_gap="no predictions",
    )


def test_verdict_names_three_workloads_and_counts_the_others() -> None:
    gaining = [row(name, Change.GAINS) for name in ("a", "b", "c", "d", "e")]
    table = PastTable(rows=tuple(gaining), hours=1.0, congested_hours=0.0, gap="")

    assert table.verdict == "a, b, c +2 more would have gained; no workload would have lost"
