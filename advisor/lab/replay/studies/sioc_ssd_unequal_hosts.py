"""Seed 001, test 4: twelve VMs on one host and four on the other."""

from statistics import fmean

from advisor.lab.replay.experiment import Experiment, Replay
from advisor.lab.replay.figure import bars
from advisor.lab.replay.finding import (
    POLICY,
    Finding,
    compare,
)
from advisor.lab.replay.studies.sioc_ssd_fio import HOSTS, premises
from advisor.lab.replay.studies.sioc_ssd_tiers import (
    PATTERNS,
    PERIOD_S,
    SAME_LOAD,
    SETTLED_S,
    SIZE,
    named,
    of_tier,
    play_tiers,
    windows_text,
)
from advisor.lab.simulation.cluster import Run
from advisor.lab.simulation.load import Access

NAME = "001-test-4"
TITLE = "SIOC on SSD: 12 VMs on one host, 4 on the other"


def play() -> Replay:
    """One VM of the high tier on each host, beside eleven or three of the low one."""
    numbers = [("host 1", {"high": 1, "low": 11}), ("host 2", {"high": 1, "low": 3})]
    runs = {pattern: play_tiers(pattern, numbers, duration_s=24.0) for pattern in PATTERNS}
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=premises(PERIOD_S, SIZE, SAME_LOAD),
        findings=tuple(row for pattern in PATTERNS for row in _gaps(pattern, runs[pattern])),
        figures=(
            bars(
                "figure 7",
                "Mean IOPS of a VM by host (12 VMs and 4 VMs) and tier",
                "IOPS",
                places=[f"{host}, {tier}" for tier in ("high", "low") for host in HOSTS],
                series={
                    str(pattern): [
                        fmean([run.of(name, SETTLED_S).iops for name in named(run, host, tier)])
                        for tier in ("high", "low")
                        for host in HOSTS
                    ]
                    for pattern, run in runs.items()
                },
            ),
        ),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def _gaps(pattern: Access, run: Run) -> list[Finding]:
    rows = []
    for tier in ("high", "low"):
        rates = [run.of(name, SETTLED_S).iops for name in of_tier(run, tier)]
        rows.append(
            compare(
                f"IOPS of {tier} VMs, smallest against largest of both hosts, {pattern}",
                "ratio",
                seed_value=1.0,
                value=min(rates) / max(rates),
                tolerance=POLICY,
                why='"the performance gaps between VMs of the same configuration is very small"; '
                f"of the {windows_text(run)} slots of the hosts' windows only whole ones are used",
            )
        )
    return rows
