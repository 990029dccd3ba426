"""Seed 001, test 3: a datacenter over 40 minutes, to which the tiers come one after the other."""

from statistics import fmean

from advisor.lab.replay.experiment import Basis, Experiment, Premise, Replay
from advisor.lab.replay.figure import Figure, over_time
from advisor.lab.replay.finding import (
    LIMIT,
    NONE,
    POLICY,
    Finding,
    Relation,
    compare,
    not_modelled,
)
from advisor.lab.replay.studies.sioc_ssd_fio import HOSTS, TIERS, premises
from advisor.lab.replay.studies.sioc_ssd_tiers import (
    BUCKET_S,
    PATTERNS,
    PERIOD_S,
    SAME_LOAD,
    SIZE,
    of_tier,
    play_tiers,
    tier_iops,
)
from advisor.lab.simulation.cluster import Run
from advisor.lab.simulation.load import Access

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
SETTLED_MIN = {
    "0 to 10": (5, 10),
    "10 to 20": (15, 20),
    "20 to 30": (25, 30),
    "30 to 40": (35, 40),
}
"""What is counted of each phase: from its fifth minute on, when the windows have settled."""


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
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=premises(PERIOD_S, SIZE, SAME_LOAD, COMPRESSED),
        findings=(
            *(finding for pattern, run in runs.items() for finding in _of_pattern(pattern, run)),
            _spikes(),
        ),
        figures=tuple(_over_minutes(pattern, run) for pattern, run in runs.items()),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def _span(tier: str) -> tuple[float, float]:
    begin, end = SPANS_MIN[tier]
    return (begin * MINUTE_S, end * MINUTE_S)


def _of_pattern(pattern: Access, run: Run) -> list[Finding]:
    return [*_low_tier(pattern, run), *_all_tiers(pattern, run), *_high_tier(pattern, run)]


def _low_tier(pattern: Access, run: Run) -> list[Finding]:
    """A low VM gets its limit while it is alone, and never more."""
    low_limit = TIERS["low"].limit or 0.0
    iops = {minutes: _tier_iops(run, "low", minutes) for minutes in SETTLED_MIN}
    return [
        compare(
            f"IOPS of a low VM alone, {pattern}",
            "IOPS",
            seed_value=low_limit,
            value=iops["0 to 10"],
            tolerance=LIMIT,
            why='"always limited by the SIOC settings": table 1 says 1000',
        ),
        compare(
            f"IOPS of a low VM, largest of all phases, {pattern}",
            "IOPS",
            seed_value=low_limit,
            value=max(iops.values()),
            tolerance=LIMIT,
            relation=Relation.AT_MOST,
            why="its limit",
        ),
    ]


def _all_tiers(pattern: Access, run: Run) -> list[Finding]:
    """Low VMs alone leave the datastore idle; from the medium ones on it gives what it can."""
    against_peak = {
        minutes: _datastore_iops(run, minutes) / _datastore_iops(run, "20 to 30")
        for minutes in SETTLED_MIN
    }
    return [
        compare(
            f"IOPS of all VMs in minutes 0 to 10 against 20 to 30, {pattern}",
            "ratio",
            seed_value=1.0,
            value=against_peak["0 to 10"],
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why='"the system workload remains at a low level"; the study prints no number',
        ),
        *(
            compare(
                f"IOPS of all VMs in minutes {minutes} against 20 to 30, {pattern}",
                "ratio",
                seed_value=1.0,
                value=against_peak[minutes],
                tolerance=POLICY,
                why='the medium VMs fill "all the spare IOPS", so more VMs bring no more',
            )
            for minutes in ("10 to 20", "30 to 40")
        ),
    ]


def _high_tier(pattern: Access, run: Run) -> list[Finding]:
    """When the high VMs come, the medium ones give up what the shares say."""
    before, beside = (_tier_iops(run, "medium", minutes) for minutes in ("10 to 20", "20 to 30"))
    return [
        compare(
            f"IOPS of a medium VM when the high ones come, change, {pattern}",
            "%",
            seed_value=0.0,
            value=100 * (beside / before - 1),
            tolerance=NONE,
            relation=Relation.AT_MOST,
            why='they "must give up part of their IOPS"; the study prints no number',
        ),
        compare(
            f"IOPS of a high VM against a medium one, {pattern}",
            "ratio",
            seed_value=2.0,
            value=_tier_iops(run, "high", "20 to 30") / beside,
            tolerance=POLICY,
            why="shares 2000 and 1000",
        ),
    ]


def _tier_iops(run: Run, tier: str, minutes: str) -> float:
    """Mean IOPS of a VM of the tier in a phase, once its windows have settled."""
    begin, end = SETTLED_MIN[minutes]
    return tier_iops(run, tier, begin * MINUTE_S, end * MINUTE_S)


def _datastore_iops(run: Run, minutes: str) -> float:
    """IOPS of all VMs together in a phase, once the windows have settled."""
    begin, end = SETTLED_MIN[minutes]
    return run.whole(begin * MINUTE_S, end * MINUTE_S).iops


def _spikes() -> Finding:
    return not_modelled(
        "spikes at the end of each second",
        "IOPS",
        seed_value=None,
        why="printed only in figure 6; they come from a quota per second, and the product's "
        "scheduler spaces the I/Os of a limited VM evenly",
    )


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
