"""Seed 001, tests 2 to 4: policies of three tiers, over time, and on uneven hosts."""

from collections.abc import Sequence
from statistics import fmean

from advisor.core.replay.experiment import Experiment, Replay
from advisor.core.replay.figure import Figure, bars, over_time
from advisor.core.replay.finding import (
    LIMIT,
    NONE,
    POLICY,
    Finding,
    Relation,
    compare,
    not_modelled,
)
from advisor.core.replay.seed_001_fio import (
    HOSTS,
    RESERVATION_IOPS,
    TIERS,
    fio_cluster,
    fio_vm,
    premises,
)
from advisor.core.simulation.cluster import Run, simulate
from advisor.core.simulation.load import ALWAYS, Access, SimulatedWorkload

PERIOD_S = 0.5
PATTERNS = tuple(RESERVATION_IOPS)
SETTLED_S = 8.0
COMBINED, DATACENTER, UNEVEN = "001-test-2", "001-test-3", "001-test-4"
TITLES = {
    COMBINED: "SIOC on SSD: policies of three tiers",
    DATACENTER: "SIOC on SSD: a datacenter over 40 minutes",
    UNEVEN: "SIOC on SSD: 12 VMs on one host, 4 on the other",
}

MINUTE_S = 0.8
"""A minute of test 3 is played in 0.8 s: ten of them settle 16 periods of the window loop."""
SPANS_MIN = {"low": (0, 40), "medium": (10, 40), "high": (20, 30)}


def play_combined() -> Replay:
    """Two VMs of the high, four of the medium and two of the low tier on each host."""
    numbers = {"high": 2, "medium": 4, "low": 2}
    runs = {
        pattern: _run(pattern, [(host, numbers) for host in HOSTS], duration_s=24.0)
        for pattern in PATTERNS
    }
    return Replay(
        experiment=COMBINED,
        title=TITLES[COMBINED],
        premises=premises(PERIOD_S),
        findings=tuple(row for pattern in PATTERNS for row in _ratios(pattern, runs[pattern])),
        figures=(_tier_bars("figure 5", "Mean IOPS of a VM by tier, 256 KiB", runs),),
    )


def play_datacenter() -> Replay:
    """Low tier from the start, medium from minute 10, high from minute 20 to 30."""
    numbers = {"high": 2, "medium": 4, "low": 2}
    halves = [(host, {tier: count // 2 for tier, count in numbers.items()}) for host in HOSTS]
    runs = {
        pattern: _run(
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
        experiment=DATACENTER,
        title=TITLES[DATACENTER],
        premises=premises(PERIOD_S),
        findings=tuple(findings),
        figures=tuple(_over_minutes(pattern, runs[pattern]) for pattern in PATTERNS),
    )


def play_uneven() -> Replay:
    """One VM of the high tier on each host, beside eleven or three of the low one."""
    numbers = [("host 1", {"high": 1, "low": 11}), ("host 2", {"high": 1, "low": 3})]
    runs = {pattern: _run(pattern, numbers, duration_s=24.0) for pattern in PATTERNS}
    return Replay(
        experiment=UNEVEN,
        title=TITLES[UNEVEN],
        premises=premises(PERIOD_S),
        findings=tuple(row for pattern in PATTERNS for row in _gaps(pattern, runs[pattern])),
        figures=(
            bars(
                "figure 7",
                "Mean IOPS of a VM by host and tier",
                "IOPS",
                places=[f"{host} {tier}" for host in HOSTS for tier in ("high", "low")],
                series={
                    str(pattern): [
                        fmean([run.of(name, SETTLED_S).iops for name in _named(run, host, tier)])
                        for host in HOSTS
                        for tier in ("high", "low")
                    ]
                    for pattern, run in runs.items()
                },
            ),
        ),
    )


EXPERIMENTS = (
    Experiment(name=COMBINED, title=TITLES[COMBINED], play=play_combined),
    Experiment(name=DATACENTER, title=TITLES[DATACENTER], play=play_datacenter),
    Experiment(name=UNEVEN, title=TITLES[UNEVEN], play=play_uneven),
)


def _span(tier: str) -> tuple[float, float]:
    begin, end = SPANS_MIN[tier]
    return (begin * MINUTE_S, end * MINUTE_S)


def _run(
    pattern: Access,
    numbers: Sequence[tuple[str, dict[str, int]]],
    *,
    duration_s: float,
    spans: dict[str, tuple[float, float]] | None = None,
) -> Run:
    workloads: list[SimulatedWorkload] = [
        fio_vm(
            f"{host} {tier} {number}",
            host,
            pattern,
            TIERS[tier],
            large=True,
            active=ALWAYS if spans is None else (spans[tier],),
        )
        for host, counts in numbers
        for tier, count in counts.items()
        for number in range(1, count + 1)
    ]
    cluster = fio_cluster(pattern, workloads, period_s=PERIOD_S)
    return simulate(cluster, duration_s=duration_s, bucket_s=MINUTE_S / 2, seed=1)


def _named(run: Run, host: str, tier: str) -> list[str]:
    return [name for name in run.workloads if name.startswith(f"{host} {tier} ")]


def _tier(run: Run, tier: str) -> list[str]:
    return [name for host in HOSTS for name in _named(run, host, tier)]


def _tier_iops(run: Run, tier: str, from_s: float = SETTLED_S, to_s: float | None = None) -> float:
    """Mean IOPS of a VM of the tier."""
    return fmean([run.of(name, from_s, to_s).iops for name in _tier(run, tier)])


def _ratios(pattern: Access, run: Run) -> list[Finding]:
    low = _tier_iops(run, "low")
    rows = [
        compare(
            f"IOPS of a {tier} VM against a low one, {pattern}",
            "ratio",
            seed_value=printed,
            value=_tier_iops(run, tier) / low,
            tolerance=POLICY,
            why="shares 2000, 1000 and 500",
        )
        for tier, printed in (("high", 4.0), ("medium", 2.0))
    ]
    return rows + [
        compare(
            f"IOPS of the slowest {tier} VM, {pattern}",
            "IOPS",
            seed_value=claim.reservation,
            value=min(run.of(name, SETTLED_S).iops for name in _tier(run, tier)),
            tolerance=LIMIT,
            relation=Relation.AT_LEAST,
            why="its reservation is met",
        )
        for tier, claim in TIERS.items()
    ]


def _phases(pattern: Access, run: Run) -> list[Finding]:
    """Each phase is counted from its fifth minute on, when the windows have settled."""

    def during(tier: str, begin: int, end: int) -> float:
        return _tier_iops(run, tier, begin * MINUTE_S, end * MINUTE_S)

    low_limit = TIERS["low"].limit or 0.0
    lows = [during("low", begin, begin + 5) for begin in (5, 15, 25, 35)]
    before, beside = during("medium", 15, 20), during("medium", 25, 30)
    total = run.whole(15 * MINUTE_S, 20 * MINUTE_S).iops
    peak = run.whole(25 * MINUTE_S, 30 * MINUTE_S).iops
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
            f"IOPS of all VMs in minutes 10 to 20 against 20 to 30, {pattern}",
            "ratio",
            seed_value=1.0,
            value=total / peak,
            tolerance=POLICY,
            why='the medium VMs "fill all the spare IOPS", so more VMs bring no more',
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


def _gaps(pattern: Access, run: Run) -> list[Finding]:
    rows = []
    for tier in ("high", "low"):
        rates = [run.of(name, SETTLED_S).iops for name in _tier(run, tier)]
        rows.append(
            compare(
                f"IOPS of {tier} VMs, smallest against largest of both hosts, {pattern}",
                "ratio",
                seed_value=1.0,
                value=min(rates) / max(rates),
                tolerance=POLICY,
                why='"the performance gaps between VMs of the same configuration is very small"',
            )
        )
    return rows


def _tier_bars(name: str, title: str, runs: dict[Access, Run]) -> Figure:
    return bars(
        name,
        title,
        "IOPS",
        places=[str(pattern) for pattern in runs],
        series={tier: [_tier_iops(run, tier) for run in runs.values()] for tier in TIERS},
    )


def _over_minutes(pattern: Access, run: Run) -> Figure:
    return over_time(
        f"figure 6, {pattern}",
        f"Mean IOPS of a VM by tier over 40 minutes, {pattern}",
        "IOPS",
        times_s=[60 * time / MINUTE_S for time in run.times_s],
        series={
            tier: [
                fmean([each.iops for each in bucket])
                for bucket in zip(*(run.workloads[name] for name in _tier(run, tier)), strict=True)
            ]
            for tier in TIERS
        },
        phases={0.0: "low", 600.0: "+ medium", 1200.0: "+ high", 1800.0: "- high"},
    )
