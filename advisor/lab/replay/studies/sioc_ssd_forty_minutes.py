"""SIOC on SSD, test 3: a datacenter over 40 minutes, to which tiers come one after the other."""

from collections.abc import Callable
from statistics import fmean

from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, over_time
from advisor.lab.replay.studies.sioc_ssd_fio import HOSTS, TIERS
from advisor.lab.replay.studies.sioc_ssd_tiers import (
    BUCKET_S,
    PATTERNS,
    WENT_IN,
    of_tier,
    play_tiers,
    tier_iops,
)
from advisor.lab.simulation.cluster import Run
from advisor.lab.simulation.load import Access

Runs = dict[Access, Run]

MINUTE_S = 2 * BUCKET_S
"""A minute is played in 0.8 s: ten of them settle 16 periods of the window loop."""
SPANS_MIN = {"low": (0, 40), "medium": (10, 40), "high": (20, 30)}
SETTLED_MIN = {0: (5, 10), 10: (15, 20), 20: (25, 30), 30: (35, 40)}
"""What is counted of each phase: from its fifth minute on, when the windows have settled."""


def play() -> Outcome:
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
    return Outcome(
        values=WENT_IN
        | {
            "minute_s": MINUTE_S,
            "low_alone": _by_pattern(runs, lambda run: _tier_iops(run, "low", 0)),
            "low_most": _by_pattern(
                runs, lambda run: max(_tier_iops(run, "low", since) for since in SETTLED_MIN)
            ),
            "medium_change": _by_pattern(
                runs,
                lambda run: (
                    100 * (_tier_iops(run, "medium", 20) / _tier_iops(run, "medium", 10) - 1)
                ),
            ),
            "high_ratio": _by_pattern(
                runs, lambda run: _tier_iops(run, "high", 20) / _tier_iops(run, "medium", 20)
            ),
        }
        | {f"whole_from_{since}": _against_peak(runs, since) for since in (0, 10, 30)},
        figures=tuple(_over_minutes(pattern, run) for pattern, run in runs.items()),
    )


def _span(tier: str) -> tuple[float, float]:
    begin, end = SPANS_MIN[tier]
    return (begin * MINUTE_S, end * MINUTE_S)


def _by_pattern(runs: Runs, measure: Callable[[Run], float]) -> dict[str, float]:
    """A number of every run, by the name of its pattern."""
    return {str(pattern): measure(run) for pattern, run in runs.items()}


def _against_peak(runs: Runs, since: int) -> dict[str, float]:
    """IOPS of all VMs from this minute on against those with all tiers, from minute 20 on."""
    return _by_pattern(runs, lambda run: _datastore_iops(run, since) / _datastore_iops(run, 20))


def _tier_iops(run: Run, tier: str, since: int) -> float:
    """Mean IOPS of a VM of the tier in a phase, once its windows have settled."""
    begin, end = SETTLED_MIN[since]
    return tier_iops(run, tier, begin * MINUTE_S, end * MINUTE_S)


def _datastore_iops(run: Run, since: int) -> float:
    """IOPS of all VMs together in a phase, once the windows have settled."""
    begin, end = SETTLED_MIN[since]
    return run.whole(begin * MINUTE_S, end * MINUTE_S).iops


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
