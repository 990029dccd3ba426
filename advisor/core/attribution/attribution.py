"""The workloads that cause an incident, each with a score, evidence and confidence.

The score is a workload's share of device time times the correlation of the others' latency with
its load. Both are needed: a steady large workload is no cause, nor is a small one that varies with
the latency. An aggressor must also take clearly more than its fair share.

With two aggressors on a busy device the load of each falls when the other starts, so the latency
follows neither. The on/off comparison shows them: others are worse while one of them is active.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from advisor.core.attribution.agreement import agreement
from advisor.core.attribution.harm import VictimHarm, harm_of_others, harms
from advisor.core.attribution.measure import Measure
from advisor.core.attribution.natural_experiment import (
    NaturalExperiment,
    NoExperiment,
    natural_experiments,
)
from advisor.core.attribution.rise import NoRise, RisePart, rise_parts
from advisor.core.attribution.workload_series import WorkloadSeries, matrix_of
from advisor.core.dependence import (
    Dependence,
    Floats,
    lagged,
    rank_dependences,
    ranks_of,
    residual_ranks,
)
from advisor.core.explanation.answer import Confidence, ConfidencePart
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.rounding import round_all
from advisor.core.number_checks import check_positive
from advisor.core.standing import workload_words

EXCESS = 1.25
"""An aggressor takes at least this many times its fair share ..."""
EXCESS_RATIO = 0.05
"""... and exceeds it by at least this fraction of all device time."""
ENOUGH_PAIRS = 30.0
"""This many independent windows give full confidence."""
WITHOUT_EXPERIMENT = 0.5
UNCONFIRMED = 0.25
"""Confidence without an on/off comparison, and where the comparison shows no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionInputs:
    """The workloads of one resource over windows before, in and after an incident.

    `shared_harm` is the latency of the resource, used where no workload has one of its own.
    """

    series: tuple[WorkloadSeries, ...]
    in_incident: tuple[bool, ...]
    window_s: float
    measure: Measure
    shared_harm: tuple[float | None, ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive("window_s", self.window_s)
        windows = len(self.in_incident)
        names = sorted(one.workload for one in self.series)
        if twice := [name for name, other in pairwise(names) if name == other]:
            raise ValueError(f'workload "{twice[0]}" is given twice')
        for one in self.series:
            if len(one.load) != windows or (one.harm is not None and len(one.harm) != windows):
                raise ValueError(f'workload "{one.workload}": not a value for each of {windows}')
        if self.shared_harm is not None and len(self.shared_harm) != windows:
            raise ValueError(f"shared_harm: not a value for each of {windows} windows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """The evidence for and against one workload.

    `part_ratio` is its share of device time in the incident, `fair_ratio` its entitlement as a
    fraction of that of all active workloads. `score` is the share times the correlation, or times
    the on/off correlation (rank-biserial) if that is significant and higher. If `experiment` is
    None, `experiment_gap` has the reason. `rise` is its part of what came on top of the normal
    load of all.
    """

    workload: str
    part_ratio: float
    fair_ratio: float
    score: float
    dependence: Dependence | None
    experiment: NaturalExperiment | None
    experiment_gap: str
    rise: RisePart | NoRise
    is_aggressor: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """All suspects and the harm to the others; `reason` speaks of the first suspect.

    Aggressors come first, then those that took clearly more than their fair share, each by score.
    `aggressors` is empty if no cause is identified.
    """

    aggressors: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    victims: tuple[VictimHarm, ...]
    confidence: Confidence
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trail:
    """One suspect, and its row in the tables of all."""

    suspect: Suspect
    is_excessive: bool
    row: int


def attribute(inputs: AttributionInputs) -> Attribution:
    """Name the workloads that cause the incident, or the reason why no cause is identified.

    The order of the workloads does not change the answer.
    """
    series = tuple(sorted(inputs.series, key=lambda one: one.workload))
    during = np.array(inputs.in_incident, dtype=np.bool_)
    load = matrix_of([one.load for one in series], len(during))
    taken = np.nan_to_num(load[:, during])
    totals = taken.sum(axis=1)
    others = harm_of_others(series, load, inputs.shared_harm)
    harm = np.array([one for one, _ in others]).reshape(load.shape)
    other_load = np.array([one for _, one in others]).reshape(load.shape)
    dependences = rank_dependences(load, harm, other_load)
    experiments = _experiments(load, harm, dependences)
    rises = rise_parts(load, during, seed=inputs.seed)
    trails = [
        _trail(
            row, one, dependences[row], experiments[row], part=part, rise=rises[row], inputs=inputs
        )
        for row, (one, part) in enumerate(zip(series, _parts(series, totals), strict=True))
    ]
    trails.sort(
        key=lambda one: (
            not one.suspect.is_aggressor,
            not one.is_excessive,
            -one.suspect.score,
            -one.suspect.part_ratio,
        )
    )
    suspects = tuple(one.suspect for one in trails)
    aggressors = tuple(one.workload for one in suspects if one.is_aggressor)
    agrees = None
    if aggressors:
        accused = [one for one in trails if one.is_excessive]
        rows = [one.row for one in accused]
        ranks = [
            _ranks(load[row], harm[row], other_load[row], _lag(one.suspect.dependence))
            for row, one in zip(rows, accused, strict=True)
        ]
        agrees = agreement(
            [cause for cause, _ in ranks],
            [effect for _, effect in ranks],
            taken[rows],
            named=len(aggressors),
            seed=inputs.seed,
        )
    return round_all(
        Attribution(
            aggressors=aggressors,
            suspects=suspects,
            victims=harms(series, during, inputs.window_s, without=aggressors),
            confidence=_confidence(suspects, agrees, inputs.measure),
            reason=_reason(suspects, inputs, is_even=not any(one.is_excessive for one in trails)),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What a workload took of all in the incident, and its fair share; `count` were active."""

    taken: float
    fair: float
    count: int

    @property
    def is_excessive(self) -> bool:
        return (
            self.taken >= EXCESS * self.fair
            and self.taken - self.fair >= EXCESS_RATIO
            and self.count > 1
        )


def _parts(series: Sequence[WorkloadSeries], taken: Floats) -> list[_Part]:
    """Of each workload; `taken` (workloads) is what each took in the incident."""
    total = float(taken.sum())
    entitled = sum(one.entitlement for one, own in zip(series, taken, strict=True) if own > 0)
    return [
        _Part(
            taken=float(own) / total if total > 0 else 0.0,
            fair=one.entitlement / entitled if own > 0 and entitled > 0 else 0.0,
            count=int(np.count_nonzero(taken > 0)),
        )
        for one, own in zip(series, taken, strict=True)
    ]


def _experiments(
    load: Floats, harm: Floats, dependences: Sequence[Dependence | None]
) -> list[NaturalExperiment | NoExperiment]:
    """Of each workload, at the lag of its dependence; both tables are (workloads, windows)."""
    found: dict[int, NaturalExperiment | NoExperiment] = {}
    lags = np.array([_lag(one) for one in dependences])
    for lag in np.unique(lags).tolist():
        rows = np.flatnonzero(lags == lag)
        own = natural_experiments(load[rows, : load.shape[1] - lag], harm[rows, lag:])
        found.update(zip(rows.tolist(), own, strict=True))
    return [found[row] for row in range(len(lags))]


def _trail(
    row: int,
    one: WorkloadSeries,
    dependence: Dependence | None,
    found: NaturalExperiment | NoExperiment,
    *,
    part: _Part,
    rise: RisePart | NoRise,
    inputs: AttributionInputs,
) -> _Trail:
    experiment = None if isinstance(found, NoExperiment) else found
    harms_others, how = _evidence(dependence, experiment, inputs.measure.harm)
    is_innocent = harms_others and not part.is_excessive
    suspect = Suspect(
        workload=one.workload,
        part_ratio=part.taken,
        fair_ratio=part.fair,
        score=part.taken * _closeness(dependence, experiment),
        dependence=dependence,
        experiment=experiment,
        experiment_gap=found.reason if isinstance(found, NoExperiment) else "",
        rise=rise,
        is_aggressor=part.is_excessive and harms_others,
        reason=f"took {part.taken:.0%} of {inputs.measure.load}, its fair share is {part.fair:.0%}"
        + (f"; not an aggressor, although {how}" if is_innocent else f"; {how}"),
    )
    return _Trail(suspect=suspect, is_excessive=part.is_excessive, row=row)


def _lag(dependence: Dependence | None) -> int:
    return 0 if dependence is None else dependence.lag_windows


def _is_clear(experiment: NaturalExperiment | None) -> bool:
    return experiment is not None and experiment.shift_low > 0


def _closeness(dependence: Dependence | None, experiment: NaturalExperiment | None) -> float:
    """How closely the others' latency follows the workload, from 0 to 1."""
    if dependence is None:
        return 0.0
    on_and_off = 2 * experiment.superiority - 1 if experiment and _is_clear(experiment) else 0.0
    return max(dependence.correlation, on_and_off, 0.0)


def _evidence(
    dependence: Dependence | None, experiment: NaturalExperiment | None, harm: str
) -> tuple[bool, str]:
    """Whether the workload harms others, with the evidence."""
    if dependence is None:
        return False, f"it is unknown whether the others' {harm} follows its load"
    span = (
        f"correlation {dependence.correlation:.2f} ({dependence.low:.2f} to {dependence.high:.2f})"
    )
    if dependence.low > 0:
        return True, f"the others' {harm} follows its load: {span}"
    if experiment and _is_clear(experiment):
        worse = f"{experiment.superiority:.0%} of on/off comparisons"
        return True, f"the others are worse while it is active, in {worse}; {span}"
    return False, f"the others' {harm} does not follow its load: {span}"


def _ranks(cause: Floats, effect: Floats, control: Floats, lag: int) -> tuple[Floats, Floats]:
    """Residual ranks of cause and effect over all windows (windows), NaN where unknown."""
    three = [one[0] for one in lagged(cause[None], effect[None], control[None], lag)]
    where = np.flatnonzero(~np.isnan(three[0] + three[1] + three[2]))
    rows = np.full((2, len(cause)), np.nan)
    if len(where):
        found = residual_ranks(*(ranks_of(one[None, where]) for one in three))
        rows[:, where] = np.concatenate(found)
    return rows[0], rows[1]


def _confidence(
    suspects: tuple[Suspect, ...], agrees: float | None, measure: Measure
) -> Confidence:
    if agrees is None:
        active = [one.dependence for one in suspects if one.part_ratio > 0]
        pairs = min((one.effective_pairs if one else 0.0 for one in active), default=0.0)
        return weakest(_windows(pairs))
    first = suspects[0]
    assert first.dependence is not None
    return weakest(
        _windows(first.dependence.effective_pairs),
        ground("agreement", agrees, f"{agrees:.0%} of resamples agree"),
        _experiment(first, measure),
    )


def _windows(pairs: float) -> ConfidencePart:
    how = f"equal to {pairs:.0f} independent windows, {ENOUGH_PAIRS:.0f} give full confidence"
    return ground("windows", pairs / ENOUGH_PAIRS, how)


def _experiment(first: Suspect, measure: Measure) -> ConfidencePart:
    found, name = first.experiment, workload_words(first.workload)
    if found is None:
        how = f"no on/off comparison: {first.experiment_gap}"
        return ground("on and off", WITHOUT_EXPERIMENT, how)
    if found.shift_low <= 0:
        how = f"the others are not worse while {name} is active"
        return ground("on and off", UNCONFIRMED, how)
    how = (
        f"the others are worse by {measure.told(found.shift, found.shift_low, found.shift_high)} "
        f"while {name} is active; probability that such a window is worse"
    )
    return ground("on and off", found.superiority, how)


def _reason(suspects: tuple[Suspect, ...], inputs: AttributionInputs, *, is_even: bool) -> str:
    """Who is the cause, or why nobody is; by the first suspect, which tables show first, too."""
    if any(one.is_aggressor for one in suspects):
        return f"{workload_words(suspects[0].workload)} {suspects[0].reason}"
    if not any(inputs.in_incident):
        return "no window is in the incident"
    active = [one for one in suspects if one.part_ratio > 0]
    if len(active) < 2:
        return "fewer than two workloads were active, so none can harm another"
    if all(one.dependence is None for one in active):
        return "too few windows or too little variation to tell cause from coincidence"
    why = "demand is even" if is_even else "no cause identified"
    return f"{why}: the first suspect, {workload_words(active[0].workload)}, {active[0].reason}"
