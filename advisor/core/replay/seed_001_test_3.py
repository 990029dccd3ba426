"""Seed 001, test 3: a datacenter over 40 minutes, to which the tiers come one after the other."""

from statistics import fmean

from advisor.core.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.core.replay.figure import Figure, over_time
from advisor.core.replay.finding import (
    LIMIT,
    NONE,
    POLICY,
    Finding,
    Relation,
    compare,
    not_modelled,
)
from advisor.core.replay.seed_001_fio import HOSTS, TIERS, premises
from advisor.core.replay.seed_001_tiers import (
    BUCKET_S,
    PATTERNS,
    PERIOD_S,
    SAME_LOAD,
    SIZE,
    of_tier,
    play_tiers,
    tier_iops,
)
from advisor.core.simulation.cluster import Run
from advisor.core.simulation.load import Access

NAME = "001-test-3"
TITLE = "SIOC on SSD: a datacenter over 40 minutes"
MINUTE_S = 2 * BUCKET_S
"""A minute is played in 0.8 s: ten of them settle 16 periods of the window loop."""
COMPRESSED = Premise(
    quantity="length of a minute",
    value=MINUTE_S,
    unit="s",
    basis=Basis.ASSUMED,
    source="the window loop runs 1.6 times in it instead of 15 times, so that in the figures "
    "windows take minutes to settle that take seconds in truth",
)
SPANS_MIN = {"low": (0, 40), "medium": (10, 40), "high": (20, 30)}


def play() -> Replay:
    """Low tier from the start, medium from minute 10, high from minute 20 to 30."""
    numbers = {"high": 2, "medium": 4, "low": 2}
    halves = [(host, {tier: count // 2 for tier, count in numbers.items()}) for host in HOSTS]
    runs = {
        pattern: play_tiers(
            pattern,
            halves,
            duration_s=40 * MINUTE_S,
            spans={tier: _span(tier) for tier in SPANS_MIN},
        )
        for pattern in PATTERNS
    }
    findings = [row for pattern in PATTERNS for row in _phases(pattern, runs[pattern])]
    findings.append(
        not_modelled(
            "spikes at the end of each second",
            "IOPS",
            seed_value=None,
            why="printed only in figure 6; they come from a quota per second, and the product's "
            "scheduler spaces the I/Os of a limited VM evenly",
        )
    )
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=premises(PERIOD_S, SIZE, SAME_LOAD, COMPRESSED),
        findings=tuple(findings),
        figures=tuple(_over_minutes(pattern, runs[pattern]) for pattern in PATTERNS),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def _span(tier: str) -> tuple[float, float]:
    begin, end = SPANS_MIN[tier]
    return (begin * MINUTE_S, end * MINUTE_S)


def _phases(pattern: Access, run: Run) -> list[Finding]:
    """Each phase is counted from its fifth minute on, when the windows have settled."""

    def during(tier: str, begin: int, end: int) -> float:
        return tier_iops(run, tier, begin * MINUTE_S, end * MINUTE_S)

    low_limit = TIERS["low"].limit or 0.0
    lows = [during("low", begin, begin + 5) for begin in (5, 15, 25, 35)]
    before, beside = during("medium", 15, 20), during("medium", 25, 30)
    total, peak, later, alone = (
        run.whole(begin * MINUTE_S, (begin + 5) * MINUTE_S).iops for begin in (15, 25, 35, 5)
    )
    return [
        compare(
            f"IOPS of a low VM alone, {pattern}",
            "IOPS",
            seed_value=low_limit,
            value=lows[0],
            tolerance=LIMIT,
            why='"always limited by the SIOC settings": table 1 says 1000',
        ),
        compare(
            f"IOPS of a low VM, largest of all phases, {pattern}",
            "IOPS",
            seed_value=low_limit,
            value=max(lows),
            tolerance=LIMIT,
            relation=Relation.AT_MOST,
            why="its limit",
        ),
        compare(
            f"IOPS of all VMs in minutes 0 to 10 against 20 to 30, {pattern}",
            "ratio",
            seed_value=1.0,
            value=alone / peak,
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why='"the system workload remains at a low level"; the seed prints no number',
        ),
        *(
            compare(
                f"IOPS of all VMs in minutes {minutes} against 20 to 30, {pattern}",
                "ratio",
                seed_value=1.0,
                value=iops / peak,
                tolerance=POLICY,
                why='the medium VMs fill "all the spare IOPS", so more VMs bring no more',
            )
            for minutes, iops in (("10 to 20", total), ("30 to 40", later))
        ),
        compare(
            f"IOPS of a medium VM when the high ones come, change, {pattern}",
            "%",
            seed_value=0.0,
            value=100 * (beside / before - 1),
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why='they "must give up part of their IOPS"; the seed prints no number',
        ),
        compare(
            f"IOPS of a high VM against a medium one, {pattern}",
            "ratio",
            seed_value=2.0,
            value=during("high", 25, 30) / beside,
            tolerance=POLICY,
            why="shares 2000 and 1000",
        ),
    ]


def _over_minutes(pattern: Access, run: Run) -> Figure:
    return over_time(
        f"figure 6, {pattern}",
        f"Mean IOPS of a VM by tier over 40 minutes, {pattern}",
        "IOPS",
        times_s=[60 * time / MINUTE_S for time in run.times_s],
        marks={"low tier's limit": TIERS["low"].limit or 0.0},
        series={
            tier: [
                fmean([each.iops for each in bucket])
                for bucket in zip(
                    *(run.workloads[name] for name in of_tier(run, tier)), strict=True
                )
            ]
            for tier in TIERS
        },
        phases={0.0: "low", 600.0: "+ medium", 1200.0: "+ high", 1800.0: "- high"},
    )
