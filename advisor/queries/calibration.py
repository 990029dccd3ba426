"""The accuracy of predictions, over all recommendations and all that happened by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from accounts.models import Organisation
from advisor.advice.registry import variants
from advisor.advice.shared.picture import Axis, Line, Picture, Point
from advisor.core.forecast.calibration import Band, Coverage, Score, calibrate, coverage_of
from advisor.core.forecast.crps import crps, even_draws
from advisor.core.forecast.natural_switch import SIDE
from advisor.core.forecast.prediction_interval import Interval
from advisor.history.measured_rates import outcome_of, outcomes_of, sure_rates
from advisor.models import NaturalScore, PredictionScore, Recommendation
from advisor.resource_kinds.registry import traits_of

MOST_SCORES = 500
"""Older predictions were made by older models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSummary:
    """All scored predictions; errors are fractions of the capacity.

    `bias_ratio` is above 0 if workloads got more than predicted. `gap` is the mean difference
    between confidence and the fraction that held. `coverage` is that of the intervals of single
    rates; None if none was told. `compared_ratio` is the part of all windows that had the load
    that was told, so that they are compared; None where nobody counted the others. `unscored` are
    predictions whose policy is in force or was, without enough of such windows.
    """

    count: int
    unscored: int
    compared_ratio: float | None
    held: int
    bias_ratio: float
    error_ratio: float
    gap: float
    bands: tuple[Band, ...]
    coverage: Coverage | None


def calibration_of(organisation: Organisation) -> CalibrationSummary | None:
    """The summary; None without scores."""
    rows = PredictionScore.objects.filter(recommendation__organisation=organisation)
    unscored = (
        Recommendation.objects.filter(organisation=organisation, prediction_score=None)
        .exclude(score_gap="")
        .count()
    )
    return _summary(list(rows.order_by("-scored_at")[:MOST_SCORES]), unscored)


def _summary(rows: list[PredictionScore], unscored: int) -> CalibrationSummary | None:
    if not rows:
        return None
    found = calibrate(
        [
            Score(
                confidence=row.confidence,
                error_ratio=row.error_ratio,
                worst_error_ratio=row.worst_error_ratio,
                bias_ratio=row.bias_ratio,
                skill_ratio=row.skill_ratio,
                held=row.held,
            )
            for row in rows
        ]
    )
    return CalibrationSummary(
        count=len(rows),
        unscored=unscored,
        compared_ratio=_compared_ratio(rows),
        held=sum(row.held for row in rows),
        bias_ratio=found.mean_bias_ratio or 0.0,
        error_ratio=found.mean_error_ratio or 0.0,
        gap=found.gap or 0.0,
        bands=tuple(band for band in found.bands if band.count),
        coverage=coverage_of(outcomes_of(rows)),
    )


def _compared_ratio(rows: Sequence[PredictionScore]) -> float | None:
    counted = [(row.windows, row.all_windows) for row in rows if row.all_windows]
    total = sum(windows or 0 for _, windows in counted)
    return sum(windows for windows, _ in counted) / total if total else None


@dataclass(slots=True, kw_only=True)
class ComparedWindows:
    """Windows in which policies were in force and had settled, as scores count them.

    Of those that are `compared`, in `held_back` work waited while less was got than was told. The
    others had `less_load` than was told, or it is `unknown` whether they had.
    """

    compared: int = 0
    held_back: int = 0
    less_load: int = 0
    unknown: int = 0

    @property
    def compared_ratio(self) -> float:
        """The part of all that was compared."""
        return self.compared / (self.compared + self.less_load + self.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginAccuracy:
    """Rates that were told as sure, of one kind of resource and of advice, and what came true.

    `coverage`, `bias_ratio` and `crps_ratio` are over all windows, whatever the load was: the last
    two are what was measured beyond what was told, and the continuous ranked probability score,
    both beside the measured rate, on the mean. `as_told` is the coverage over those windows that
    had the load that was told. `windows` has how many of all were compared, and why others not.
    """

    origin: str
    kinds: str
    windows: ComparedWindows
    coverage: Coverage
    as_told: Coverage
    bias_ratio: float
    crps_ratio: float

    @property
    def compared_ratio(self) -> float:
        return self.windows.compared_ratio


APPROVED, NATURAL = "approved advice", "workloads that started or stopped by themselves"


@dataclass(slots=True, kw_only=True)
class _Rates:
    """Those of one origin and kind, and the windows in which they were measured."""

    rates: list[Mapping[str, Any]] = field(default_factory=list)
    windows: ComparedWindows = field(default_factory=ComparedWindows)


def accuracy_by_origin(organisation: Organisation) -> list[OriginAccuracy]:
    """A row for each kind of advice and of resource of which rates were measured.

    Scores that did not count all windows are left out.
    """
    approved = PredictionScore.objects.filter(
        recommendation__organisation=organisation, unknown_load_windows__isnull=False
    )
    natural = NaturalScore.objects.filter(resource__organisation=organisation)
    advised = approved.select_related("recommendation__resource").order_by("-scored_at")
    switched = natural.select_related("resource").order_by("-switched_at")
    found: dict[tuple[str, str], _Rates] = defaultdict(_Rates)
    for score in advised[:MOST_SCORES]:
        advice = score.recommendation
        own = found[f"{APPROVED}, {_words_of(advice.kind)}", advice.resource.kind]
        own.rates += sure_rates(score)
        _count(own.windows, score)
    for change in switched[:MOST_SCORES]:
        own = found[NATURAL, change.resource.kind]
        own.rates += sure_rates(change)
        own.windows.compared += SIDE
    rows = (_accuracy(origin, kind, own) for (origin, kind), own in sorted(found.items()))
    return [one for one in rows if one is not None]


def _count(windows: ComparedWindows, score: PredictionScore) -> None:
    windows.compared += score.windows
    windows.held_back += score.held_back_windows or 0
    windows.less_load += score.less_load_windows or 0
    windows.unknown += score.unknown_load_windows or 0


def _words_of(kind: str) -> str:
    """A kind of advice in words, also one that this version does not know."""
    return next((one.words for one in variants() if one.name == kind), kind)


def _accuracy(origin: str, kind: str, own: _Rates) -> OriginAccuracy | None:
    outcomes = [(outcome_of(rate)[0], _in_all(rate)) for rate in own.rates]
    coverage, as_told = coverage_of(outcomes), coverage_of(list(map(outcome_of, own.rates)))
    measured = sum(one for _, one in outcomes)
    if coverage is None or as_told is None or measured <= 0:
        return None
    return OriginAccuracy(
        origin=origin,
        kinds=traits_of(kind).words.plural,
        windows=own.windows,
        coverage=coverage,
        as_told=as_told,
        bias_ratio=(measured - sum(rate["predicted"] for rate in own.rates)) / measured,
        crps_ratio=sum(map(_crps, own.rates)) / measured,
    )


def _in_all(rate: Mapping[str, Any]) -> float:
    """What was measured over all windows: after a switch all of them are compared."""
    return float(rate.get("measured_in_all", rate["measured"]))


def _crps(rate: Mapping[str, Any]) -> float:
    """That of the draws where they were kept, else of draws of the range."""
    if "crps" in rate:
        return float(rate["crps"])
    told = Interval(**rate["interval"])
    draws = even_draws(low=told.low, middle=rate["predicted"], high=told.high, level=told.level)
    return crps(draws, _in_all(rate))


# --- The picture

MOST_DRAWN = 400
"""More rates are a cloud, in which no range is seen."""


def accuracy_picture(organisation: Organisation) -> Picture | None:
    """The newest rates that were told as sure, with their ranges; None without any.

    Rates of resources of all kinds are compared as parts of the capacity.
    """
    scores = PredictionScore.objects.filter(recommendation__organisation=organisation)
    rates = [
        (rate, score.capacity)
        for score in scores.order_by("-scored_at")[:MOST_DRAWN]
        for rate in sure_rates(score)
    ][:MOST_DRAWN]
    if not rates:
        return None
    dots = tuple((_part(one["predicted"], most), _part(_in_all(one), most)) for one, most in rates)
    largest = max(max(dot) for dot in dots)
    inside = sum(_is_inside(rate) for rate, _ in rates)
    return Picture(
        title="Predicted against measured",
        said=f"{len(rates)} measured rates against those predicted; {inside} of them lie within "
        "the range that was told. On the line both are the same.",
        x=Axis(label="Predicted", unit="% of the capacity"),
        y=Axis(label="Measured", unit="% of the capacity"),
        dots=dots,
        dots_label="measured",
        lines=(
            Line(label="as predicted", points=((0.0, 0.0), (largest, largest))),
            Line(label="range that was told", points=_ranges(rates)),
        ),
    )


def _ranges(rates: Sequence[tuple[Mapping[str, Any], float]]) -> tuple[Point | None, ...]:
    """Of each rate the range, with a gap after it."""
    points: list[Point | None] = []
    for rate, most in rates:
        at, told = _part(rate["predicted"], most), rate["interval"]
        points += [(at, _part(told["low"], most)), (at, _part(told["high"], most)), None]
    return tuple(points)


def _is_inside(rate: Mapping[str, Any]) -> bool:
    told = Interval(**rate["interval"])
    return told.low <= _in_all(rate) <= told.high


def _part(rate: float, capacity: float) -> float:
    return 100 * rate / capacity


# --- The newest scores


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalLine:
    """One start or stop of a workload, and how many of the others' rates came out as told."""

    score: NaturalScore
    count: int
    inside: int


def newest_scores(organisation: Organisation) -> QuerySet[PredictionScore]:
    """All scores, the newest first."""
    rows = PredictionScore.objects.filter(recommendation__organisation=organisation)
    return rows.select_related("recommendation__resource").order_by("-scored_at", "-pk")


def natural_lines(organisation: Organisation, *, most: int) -> list[NaturalLine]:
    """The newest of them."""
    rows = NaturalScore.objects.filter(resource__organisation=organisation)
    found = []
    for score in rows.select_related("resource").order_by("-switched_at", "-pk")[:most]:
        rates = list(sure_rates(score))
        inside = sum(map(_is_inside, rates))
        found.append(NaturalLine(score=score, count=len(rates), inside=inside))
    return found
