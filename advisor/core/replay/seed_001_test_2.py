"""Seed 001, test 2: shares, limits and reservations together, as policies of three tiers."""

from advisor.core.replay.experiment import Experiment, Replay
from advisor.core.replay.figure import Figure, bars
from advisor.core.replay.finding import LIMIT, POLICY, Finding, Relation, compare
from advisor.core.replay.seed_001_fio import HOSTS, TIERS, premises
from advisor.core.replay.seed_001_tiers import (
    PATTERNS,
    PERIOD_S,
    SETTLED_S,
    SIZE,
    of_tier,
    play_tiers,
    tier_iops,
)
from advisor.core.simulation.cluster import Run
from advisor.core.simulation.load import Access

NAME = "001-test-2"
TITLE = "SIOC on SSD: policies of three tiers"
RATIOS = {"high": 4.0, "medium": 2.0}
"""IOPS against those of the low tier."""


def play() -> Replay:
    """Two VMs of the high, four of the medium and two of the low tier on each host."""
    numbers = {"high": 2, "medium": 4, "low": 2}
    runs = {
        pattern: play_tiers(pattern, [(host, numbers) for host in HOSTS], duration_s=24.0)
        for pattern in PATTERNS
    }
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=premises(PERIOD_S, SIZE),
        findings=tuple(row for pattern in PATTERNS for row in _ratios(pattern, runs[pattern])),
        figures=(
            _tier_bars("figure 5", "Mean IOPS of a VM by tier, I/Os of 256 KiB", runs),
            bars(
                "figure 5, ratios",
                "IOPS of a VM against one of the low tier",
                "low tier = 1",
                places=[str(pattern) for pattern in runs],
                series={
                    tier: [tier_iops(run, tier) / tier_iops(run, "low") for run in runs.values()]
                    for tier in RATIOS
                },
                printed={tier: [ratio] * len(runs) for tier, ratio in RATIOS.items()},
            ),
        ),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def _ratios(pattern: Access, run: Run) -> list[Finding]:
    low = tier_iops(run, "low")
    rows = [
        compare(
            f"IOPS of a {tier} VM against a low one, {pattern}",
            "ratio",
            seed_value=printed,
            value=tier_iops(run, tier) / low,
            tolerance=POLICY,
            why="shares 2000, 1000 and 500",
        )
        for tier, printed in RATIOS.items()
    ]
    return rows + [
        compare(
            f"IOPS of the slowest {tier} VM, {pattern}",
            "IOPS",
            seed_value=allocation.reservation,
            value=min(run.of(name, SETTLED_S).iops for name in of_tier(run, tier)),
            tolerance=LIMIT,
            relation=Relation.AT_LEAST,
            why="its reservation is met, here by its shares alone",
        )
        for tier, allocation in TIERS.items()
    ]


def _tier_bars(name: str, title: str, runs: dict[Access, Run]) -> Figure:
    return bars(
        name,
        title,
        "IOPS",
        places=[str(pattern) for pattern in runs],
        series={tier: [tier_iops(run, tier) for run in runs.values()] for tier in TIERS},
    )
