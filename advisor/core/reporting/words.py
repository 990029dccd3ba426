"""A report in words and figures, the same on the page, in the mail and in print."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from advisor.core.enumeration import listed
from advisor.core.quantity import format_rate
from advisor.core.reporting.promise import KEPT_RATIO, PromiseMinutes
from advisor.core.reporting.report import (
    Report,
    ReportedAction,
    ReportedFullDay,
    ReportedIncident,
    ReportedLatency,
    ReportedRate,
    ReportedWorkload,
    by_tier,
)

EN_DASH = "\N{EN DASH}"
THIN = "\N{NARROW NO-BREAK SPACE}"
HOUR_MIN = 60.0
DIRECTION_MARKS = dict.fromkeys((0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Marks that turn the direction of what follows them."""

MEANINGS = {
    "Promise kept": (
        "Of the minutes in which a workload wanted as much as is reserved for it, the part in "
        f"which it got at least {100 * KEPT_RATIO:.0f} % of that. "
        "A workload that wanted less has none."
    ),
    "Lost": (
        "Minutes of full service that incidents took: an hour in which a workload had half of "
        "what it is entitled to is 30 minutes. Planned maintenance takes none."
    ),
    "Missed": "Minutes in which what is reserved was wanted and was not there.",
    "At own limit": (
        "Minutes in which the workload's own limit held it back. It breaks no promise."
    ),
    "Latency": (
        "What an I/O took on the mean of a window of the datastore: in 95 and in 99 % of the "
        "windows with I/O it was not more."
    ),
    "Prediction": (
        "What a policy was told to do, beside the rates that were measured while every host had "
        "it. The error is a part of the capacity; held means that none missed by more than 5 %."
    ),
    "Full": "When demand comes near to what there is: between these days in 80 % of outcomes.",
}
"""What the figures of a report are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its unit; `note` says what it is made of, or why there is none."""

    name: str
    value: str
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of workloads: one, or those of a tier.

    `kept` is in percent with its `bar` of 100; without it `gap` says why.
    """

    name: str
    tier: str
    places: str
    kept: str
    bar: float | None
    gap: str
    asked: str
    missed: str
    limited: str
    lost: str
    incidents: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLine:
    """A row of incidents."""

    began: str
    resource: str
    minutes: str
    lost: str
    victims: str
    culprits: str
    planned: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyLine:
    """A row of datastores; `is_above` where the 95 % are above the threshold."""

    resource: str
    p95: str
    p99: str
    threshold: str
    is_above: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionLine:
    """A row of what was done: `brought` is what was measured, `prediction` how that was told."""

    at: str
    resource: str
    summary: str
    brought: tuple[str, ...]
    prediction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDayLine:
    """A row of what becomes full."""

    subject: str
    between: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWords:
    """All of a report but its workloads one by one; `says` is what it comes to."""

    title: str
    days: str
    made: str
    says: str
    figures: tuple[Figure, ...]
    tiers: tuple[Line, ...]
    incidents: tuple[IncidentLine, ...]
    more_incidents: int
    gaps: tuple[str, ...]
    latencies: tuple[LatencyLine, ...] = ()
    actions: tuple[ActionLine, ...] = ()
    more_actions: int = 0
    full_days: tuple[FullDayLine, ...] = ()

    @property
    def meanings(self) -> list[tuple[str, str]]:
        """What the figures are."""
        return list(MEANINGS.items())


def words_of(report: Report) -> ReportWords:
    """What people read of it first."""
    zone = ZoneInfo(report.period.zone)
    subject = report.subject[0].upper() + report.subject[1:]
    return ReportWords(
        title=f"{subject} of {report.organisation}",
        days=report.period.text,
        made=f"{report.made_at.astimezone(zone):%Y-%m-%d %H:%M} {report.period.zone}",
        says=_says(report),
        figures=_figures(report),
        tiers=tuple(
            _line(
                one.minutes,
                name=one.tier,
                lost_min=one.lost_min,
                gap="nothing of this tier wanted as much as is reserved",
                places=f"{one.workloads}",
            )
            for one in by_tier(report)
        ),
        incidents=tuple(_incident(one, zone) for one in report.incidents.rows),
        more_incidents=report.incidents.count - len(report.incidents.rows),
        gaps=report.gaps,
        latencies=tuple(map(_latency, report.latencies)),
        actions=tuple(_action(one, zone) for one in report.actions.rows),
        more_actions=report.actions.count - len(report.actions.rows),
        full_days=tuple(map(_full_day, report.full_days)),
    )


def workload_line(one: ReportedWorkload) -> Line:
    """A workload's row."""
    return _line(
        one.minutes,
        name=plain_name(one.name),
        tier=one.tier,
        places=", ".join(one.resources),
        lost_min=one.lost_min,
        gap=one.gap,
        incidents=f"{one.incidents}",
    )


def plain_name(name: str) -> str:
    """Without marks that turn what stands behind it around."""
    return name.translate(DIRECTION_MARKS)


def minutes_text(value: float) -> str:
    """Whole minutes, thousands apart; less than one is told as such."""
    if 0 < value < 1:
        return "< 1"
    return f"{value:,.0f}".replace(",", THIN)


def _length(minutes: float) -> str:
    if 0 < minutes < 1:
        return "less than a minute"
    text = minutes_text(minutes)
    return f"{text} minute{'' if text == '1' else 's'}"


def percent_text(ratio: float) -> str:
    """With two decimals, and never rounded up to what was not reached."""
    floored = int(ratio * 10_000 + 1e-9) / 100
    return f"{floored:.2f}".removesuffix(".00") if ratio == 1 else f"{floored:.2f}"


def _says(report: Report) -> str:
    ratio = report.minutes.kept_ratio
    count = report.incidents.count
    incidents = f"{count} incident{'' if count == 1 else 's'}"
    lost = (
        f"{incidents} took {_length(report.lost_min)} of service."
        if report.lost_min
        else f"{incidents} took nothing."
        if count
        else "There was no incident."
    )
    if not report.workloads:
        return f"There is nothing to report. {lost}"
    if ratio is None:
        return f"No workload wanted as much as is reserved for it. {lost}"
    return f"{percent_text(ratio)} % of what was promised and asked for was there. {lost}"


def _figures(report: Report) -> tuple[Figure, ...]:
    own, ratio = report.minutes, report.minutes.kept_ratio
    kept = Figure(name="Promise kept", value=EN_DASH, note="it was never asked for")
    if ratio is not None:
        of_them = f"{minutes_text(own.kept)} of {minutes_text(own.asked)} min"
        kept = Figure(name="Promise kept", value=percent_text(ratio), unit="%", note=of_them)
    planned = sum(1 for one in report.incidents.rows if one.planned)
    note = f"{planned} of them planned" if planned else ""
    return (
        kept,
        Figure(name="Lost in incidents", value=minutes_text(report.lost_min), unit="min"),
        Figure(name="At own limits", value=minutes_text(own.throttled), unit="min"),
        Figure(name="Incidents", value=f"{report.incidents.count}", note=note),
        Figure(name="Workloads", value=f"{len(report.workloads)}"),
        _predictions(report),
    )


def _predictions(report: Report) -> Figure:
    found = report.actions
    if found.error_ratio is None:
        done = f"{found.count} policies were published" if found.count else "nothing was changed"
        return Figure(name="Predictions held", value=EN_DASH, note=f"{done}, none was scored")
    return Figure(
        name="Predictions held",
        value=f"{found.held} of {found.scored}",
        note=f"mean error {found.error_ratio:.1%} of the capacity".replace("%", " %"),
    )


def _line(
    own: PromiseMinutes,
    *,
    name: str,
    lost_min: float,
    gap: str,
    places: str,
    tier: str = "",
    incidents: str = "",
) -> Line:
    ratio = own.kept_ratio
    return Line(
        name=name,
        tier=tier,
        places=places,
        kept=EN_DASH if ratio is None else percent_text(ratio),
        bar=None if ratio is None else round(100 * ratio, 1),
        gap=gap if ratio is None else "",
        asked=minutes_text(own.asked),
        missed=minutes_text(own.asked - own.kept),
        limited=minutes_text(own.throttled),
        lost=minutes_text(lost_min),
        incidents=incidents,
    )


def _incident(one: ReportedIncident, zone: ZoneInfo) -> IncidentLine:
    return IncidentLine(
        began=moment_text(one.since, zone),
        resource=one.resource,
        minutes=minutes_text(one.minutes) + ("" if one.until else ", not over"),
        lost=minutes_text(one.lost_min),
        victims=listed([plain_name(name) for name in one.victims]) or "nobody here",
        culprits=listed([plain_name(name) for name in one.culprits]) or "nobody who can be named",
        planned=one.planned,
    )


def _latency(one: ReportedLatency) -> LatencyLine:
    threshold = one.threshold_ms
    return LatencyLine(
        resource=one.resource,
        p95=_ms(one.p95_ms),
        p99=_ms(one.p99_ms),
        threshold=EN_DASH if threshold is None else _ms(threshold),
        is_above=threshold is not None and one.p95_ms > threshold,
    )


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _action(one: ReportedAction, zone: ZoneInfo) -> ActionLine:
    prediction = one.gap
    if one.held is not None and one.error_ratio is not None:
        word = "held" if one.held else "missed"
        prediction = f"{word}, mean error {100 * one.error_ratio:.1f} %"
    return ActionLine(
        at=moment_text(one.at, zone),
        resource=one.resource,
        summary=plain_name(one.summary),
        brought=tuple(map(_rate, one.rates)),
        prediction=prediction,
    )


def _rate(one: ReportedRate) -> str:
    before, predicted, measured = (
        format_rate(value, one.unit) for value in (one.before, one.predicted, one.measured)
    )
    was = "" if one.before is None else f"{before} to "
    return f"{plain_name(one.workload)}: {was}{measured}, {predicted} predicted"


def _full_day(one: ReportedFullDay) -> FullDayLine:
    latest = f"{one.latest}" if one.latest else f"a day after {one.until}"
    return FullDayLine(
        subject=one.subject,
        between=f"{one.soonest} and {latest}",
        about=f"{one.median}" if one.median else EN_DASH,
    )


def moment_text(at: datetime, zone: ZoneInfo) -> str:
    """With the offset, which tells the two hours of a night apart that come twice."""
    local = at.astimezone(zone)
    hours, rest = divmod(round((local.utcoffset() or at - at).total_seconds() / 60), HOUR_MIN)
    minutes = f":{rest:02.0f}" if rest else ""
    return f"{local:%Y-%m-%d %H:%M} {hours:+03.0f}{minutes}"
