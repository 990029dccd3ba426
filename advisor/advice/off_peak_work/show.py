"""Advice on when to do administrative work, as people are shown it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from advisor.advice.off_peak_work.decide.scsi_conflicts import (
    ConflictInputs,
    ConflictWindow,
    OffPeakAdvice,
)
from advisor.advice.shared.picture import Axis, Column, Line, Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact, Shown, TableColumn

HOURS = 24


COMMITMENT = Commitment(
    does="It is noted that somebody will move the administrative work.",
    does_not="Sluice runs no such work: no schedule is changed.",
    undo="It is a time of day in a schedule, and can be set back there.",
)


def show(inputs: ConflictInputs, answer: OffPeakAdvice, _resource: str) -> Shown:
    return Shown(
        table=_table(answer),
        facts=_facts(inputs, answer),
        picture=_picture(inputs, answer),
        commitment=COMMITMENT,
    )


def _table(answer: OffPeakAdvice) -> AdviceTable:
    """One row: when administrative work is done."""
    return AdviceTable(
        columns=(TableColumn(title="What"), TableColumn(title="Now"), TableColumn(title="After")),
        rows=(("administrative work", "at any hour", _hours(answer)),),
    )


def _hours(answer: OffPeakAdvice) -> str:
    end = (answer.from_hour_utc + answer.work_hours) % 24
    return f"from {answer.from_hour_utc:02}:00 to {end:02}:00 UTC"


def _facts(inputs: ConflictInputs, answer: OffPeakAdvice) -> tuple[Fact, ...]:
    began = answer.conflicts_began_at
    return (
        Fact(name="Windows", text=f"{len(inputs.windows)} hours"),
        Fact(name="Conflicts before", text=f"{answer.normal_ratio:.2%} of commands"),
        Fact(name="Conflicts lately", text=f"{answer.recent_ratio:.2%} of commands"),
        Fact(name="Rose from", text=f"{began:%Y-%m-%d %H:%M} UTC"),
        Fact(name="Administrative work takes", text=f"{answer.work_hours} hours a day"),
    )


def _picture(inputs: ConflictInputs, answer: OffPeakAdvice) -> Picture:
    """Load and conflicts by hour of the day since they rose, and the hours advised."""
    recent = [one for one in inputs.windows if one.at > inputs.normal_until]
    load = _by_hour(recent, [one.commands for one in recent])
    conflicts = _by_hour(recent, [one.conflicts for one in recent])
    chosen = {(answer.from_hour_utc + step) % HOURS for step in range(answer.work_hours)}
    return Picture(
        title="Its day since conflicts rose",
        said="Load and SCSI reservation conflicts by hour of the day; the advised hours start at "
        f"{answer.from_hour_utc:02}:00 UTC",
        x=Axis(
            label="hour of day, UTC",
            ticks=tuple((hour + 0.5, f"{hour:02}") for hour in range(0, HOURS, 3)),
        ),
        y=Axis(label="times the mean of the day"),
        columns=tuple(
            Column(at=float(hour), value=load[hour], is_after=hour in chosen)
            for hour in range(HOURS)
        ),
        columns_label="commands",
        columns_after_label="commands in the advised hours",
        lines=(
            Line(
                label="SCSI reservation conflicts",
                points=tuple((hour + 0.5, conflicts[hour]) for hour in range(HOURS)),
            ),
        ),
    )


def _by_hour(windows: Sequence[ConflictWindow], amounts: Sequence[float]) -> list[float]:
    """The mean of each hour of the day against the mean of all; 0 where nothing is known."""
    sums, counts = [0.0] * HOURS, [0] * HOURS
    for one, amount in zip(windows, amounts, strict=True):
        hour = one.at.astimezone(UTC).hour
        sums[hour] += amount
        counts[hour] += 1
    means = [total / count if count else 0.0 for total, count in zip(sums, counts, strict=True)]
    level = sum(means) / max(sum(1 for count in counts if count), 1)
    return [mean / level if level > 0 else 0.0 for mean in means]
