"""When reservation conflicts on a shared LUN rise, move administrative work off the peak.

Creating, growing or deleting virtual disks and snapshots locks the whole LUN for one host for a
moment. Many such operations while others work show as conflicts, and everybody waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from advisor.core.detection.change_point import cusum
from advisor.core.explanation.answer import (
    Alternative,
    Confidence,
    InsufficientData,
    Missing,
    NoChange,
)
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.explained import PredictedAnswer
from advisor.core.explanation.rounding import round_all
from advisor.core.explanation.too_little import too_little_of
from advisor.core.number_checks import check_amount, check_aware, check_positive

HOURS = 24
ENOUGH_WINDOWS = 30
ENOUGH_DAYS = 3
SMALLEST_RATIO = 0.001
"""One conflict in a thousand commands hurts nobody, however much more that is than before."""
RISE = 1.5
"""Conflicts have risen if they take so many times the part of commands they took before."""
WORTH_MOVING = 0.8
"""Other hours must lower the load that meets a lock at least to this part."""
SPREAD_OF_MAD = 1.4826
SMALLEST_SPREAD_RATIO = 0.1
"""A series that hardly varies is given a spread of this part of its level."""
ALIKE = 0.1
"""Hours whose load differs by this part or less are equally quiet."""
UNKNOWN_CAUSE = 0.5
"""Confidence without a count of the administrative operations."""
MODEL_VERSION = "reservation-conflicts-2"
REVERSIBILITY = "Reversible: it is a time of day in the schedule of administrative work."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictWindow:
    """Commands and reservation conflicts of a LUN, all hosts together, in the window before `at`.

    `operations` counts administrative operations; None means that nobody counts them.
    """

    at: datetime
    commands: float
    conflicts: float
    operations: float | None = None

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_amount("commands", self.commands)
        check_amount("conflicts", self.conflicts)
        check_amount("operations", self.operations)

    @property
    def ratio(self) -> float | None:
        """Conflicts as a part of all commands; None without any."""
        total = self.commands + self.conflicts
        return self.conflicts / total if total > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictInputs:
    """Windows of a LUN; those before `normal_until` say what is normal.

    `work_hours` is how long the administrative work of a day takes.
    """

    datastore: str
    windows: tuple[ConflictWindow, ...]
    normal_until: datetime
    work_hours: int = 2

    def __post_init__(self) -> None:
        check_aware("normal_until", self.normal_until)
        check_positive("work_hours", self.work_hours)
        if self.work_hours > HOURS:
            raise ValueError(f"work_hours is {self.work_hours}; it must be at most {HOURS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPeakAdvice(PredictedAnswer):
    """Do administrative work from `from_hour_utc` on, for `work_hours`."""

    from_hour_utc: int
    work_hours: int
    conflicts_began_at: datetime
    normal_ratio: float
    recent_ratio: float


OffPeakAnswer = OffPeakAdvice | NoChange | InsufficientData


@dataclass(frozen=True, slots=True, kw_only=True)
class _Day:
    """A typical day: commands and conflicts by hour, as parts of the whole."""

    load: tuple[float, ...]
    conflicts: tuple[float, ...]

    def exposed(self) -> float:
        """The part of the day's commands in the hours of conflicts, weighted by those."""
        pairs = zip(self.load, self.conflicts, strict=True)
        return HOURS * sum(load * part for load, part in pairs)

    def exposed_from(self, hour: int, length: int) -> float:
        """The same if all conflicts fell evenly on `length` hours from `hour` on."""
        return HOURS / length * sum(self.load[(hour + step) % HOURS] for step in range(length))


def advise_off_peak_work(inputs: ConflictInputs) -> OffPeakAnswer:
    """When to do administrative work, or why conflicts do not call for it."""
    windows = sorted(inputs.windows, key=lambda one: one.at)
    normal = [one for one in windows if one.at <= inputs.normal_until and one.ratio is not None]
    recent = [one for one in windows if one.at > inputs.normal_until and one.ratio is not None]
    days = len({one.at.astimezone(UTC).date() for one in windows})
    too_little = too_little_of(
        [
            Missing(what="normal windows", have=len(normal), need=ENOUGH_WINDOWS),
            Missing(what="recent windows", have=len(recent), need=ENOUGH_WINDOWS),
            Missing(what="days", have=days, need=ENOUGH_DAYS),
        ],
        about=f"conflicts on datastore {inputs.datastore}",
        model_version=MODEL_VERSION,
    )
    if too_little is not None:
        return too_little
    return _compare(inputs, normal, recent)


def _compare(
    inputs: ConflictInputs, normal: Sequence[ConflictWindow], recent: Sequence[ConflictWindow]
) -> OffPeakAnswer:
    before, after = _ratio(normal), _ratio(recent)
    began = _began_index(normal, recent)
    if began is None or after < max(SMALLEST_RATIO, RISE * before):
        return _no_change(
            f"Reservation conflicts on datastore {inputs.datastore} have not risen: "
            f"{after:.2%} of commands, {before:.2%} before"
        )
    day = _typical_day(recent)
    hour = _quietest(day, inputs.work_hours)
    exposed, exposed_there = day.exposed(), day.exposed_from(hour, inputs.work_hours)
    if exposed_there >= WORTH_MOVING * exposed:
        return _no_change(
            f"Reservation conflicts on datastore {inputs.datastore} rose to {after:.2%} of "
            "commands, yet they already fall into its quiet hours: spread its hosts over more LUNs"
        )
    return round_all(
        OffPeakAdvice(
            summary=f"Do administrative work on datastore {inputs.datastore} from "
            f"{hour:02}:00 UTC on: conflicts rose from {before:.2%} to {after:.2%} of commands. "
            f"They meet hours with {exposed:.1f} times the mean load; those {inputs.work_hours} "
            f"hours have {exposed_there:.2f} times",
            from_hour_utc=hour,
            work_hours=inputs.work_hours,
            conflicts_began_at=recent[began].at,
            normal_ratio=before,
            recent_ratio=after,
            formula=f"the {inputs.work_hours} hours in a row with the fewest commands; a rise is "
            f"{RISE:g} times as many and a cumulative sum of deviations above 5 spreads",
            effects=_effects(exposed, exposed_there),
            alternatives=_alternatives(after),
            confidence=_confidence(recent),
            reversibility=REVERSIBILITY,
            model_version=MODEL_VERSION,
        )
    )


def _began_index(normal: Sequence[ConflictWindow], recent: Sequence[ConflictWindow]) -> int | None:
    """The recent window in which conflicts began to rise above the normal ones; None if none."""
    ratios = np.array([one.ratio for one in normal], dtype=np.float64)
    middle = float(np.median(ratios))
    spread = max(
        SPREAD_OF_MAD * float(np.median(np.abs(ratios - middle))),
        SMALLEST_SPREAD_RATIO * max(middle, SMALLEST_RATIO),
    )
    return cusum([one.ratio for one in recent], mean=middle, spread=spread).began_index


def _effects(exposed: float, exposed_there: float) -> tuple[Effect, ...]:
    return (
        Effect(
            quantity="load while the LUN is being locked, against the mean of the day",
            unit="ratio",
            before=exposed,
            after=exposed_there,
            how="commands by hour of day, weighted by the conflicts in that hour",
        ),
    )


def _quietest(day: _Day, length: int) -> int:
    """The first hour of those that are as quiet as any, so that noise moves no schedule."""
    exposed = [day.exposed_from(hour, length) for hour in range(HOURS)]
    return next(hour for hour in range(HOURS) if exposed[hour] <= min(exposed) * (1 + ALIKE))


def _ratio(windows: Sequence[ConflictWindow]) -> float:
    commands = sum(one.commands for one in windows)
    conflicts = sum(one.conflicts for one in windows)
    return conflicts / (commands + conflicts)


def _typical_day(windows: Sequence[ConflictWindow]) -> _Day:
    """Mean commands per window by hour of day, and the conflicts of that hour."""
    commands, conflicts, counts = np.zeros((3, HOURS))
    for one in windows:
        hour = one.at.astimezone(UTC).hour
        commands[hour] += one.commands
        conflicts[hour] += one.conflicts
        counts[hour] += 1
    load = commands / np.maximum(counts, 1)
    # An hour without a window is taken for a mean one: nothing speaks for or against it.
    load[counts == 0] = load[counts > 0].mean()
    # Where no command ever passed, all hours are alike.
    parts = load / load.sum() if load.sum() > 0 else np.full(HOURS, 1 / HOURS)
    return _Day(
        load=tuple(parts.tolist()),
        conflicts=tuple((conflicts / conflicts.sum()).tolist()),
    )


def _no_change(summary: str) -> NoChange:
    return NoChange(summary=summary, model_version=MODEL_VERSION)


def _alternatives(ratio: float) -> tuple[Alternative, ...]:
    return (
        Alternative(
            name="do nothing",
            reason=f"{ratio:.2%} of commands go on meeting a LUN that another host has locked",
        ),
        Alternative(
            name="fewer hosts per LUN",
            reason="fewer hosts meet a lock, but workloads have to move",
        ),
        Alternative(
            name="hardware-assisted locking",
            reason="locks blocks in place of the LUN, but the array has to offer it",
        ),
    )


def _confidence(recent: Sequence[ConflictWindow]) -> Confidence:
    windows = ground(
        "windows",
        len(recent) / (2 * ENOUGH_WINDOWS),
        f"{len(recent)} recent windows, {2 * ENOUGH_WINDOWS} are plenty",
    )
    counted = [one for one in recent if one.operations is not None]
    working = [one for one in counted if one.operations]
    idle = [one for one in counted if not one.operations]
    if not working or not idle:
        how = "nobody counted administrative operations, or they never paused"
        return weakest(windows, ground("cause", UNKNOWN_CAUSE, how))
    with_work, without = _ratio(working), _ratio(idle)
    how = f"{with_work:.2%} of commands while work is done, {without:.2%} while none is"
    caused = 1 - without / with_work if with_work > 0 else 0.0
    return weakest(windows, ground("cause", caused, how))
