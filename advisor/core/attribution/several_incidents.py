"""One attribution for several incidents of a resource: short bursts tell too little each.

The windows around each are put one after the other, with a gap between that belongs to none, so
that no lag reaches from one into the next. What the first of a neighbour's bursts leaves open,
whether the others are worse while it is active, the third may answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from advisor.core.attribution.attribution import Attribution, AttributionInputs, Suspect
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.dependence import LAGS

FEWEST_INCIDENTS = 3
"""Two may fall together with something else by chance."""

_GAP = max(LAGS)
Column = tuple[float | None, ...]
Value = TypeVar("Value")


def put_together(parts: Sequence[AttributionInputs]) -> AttributionInputs:
    """The same workloads over the windows of all parts, which are in order of time.

    A workload is not measured in parts that do not know it. Its entitlement is the mean over
    the windows of those that do.
    """
    names = sorted({one.workload for part in parts for one in part.series})
    return replace(
        parts[0],
        series=tuple(_series(name, parts) for name in names),
        in_incident=_joined([part.in_incident for part in parts], gap=False),
        shared_harm=None
        if all(part.shared_harm is None for part in parts)
        else _joined([_or_none(part.shared_harm, part) for part in parts], gap=None),
    )


def told_by_several(alone: Attribution, together: Attribution) -> Attribution | None:
    """What several incidents say of this one, if they accuse whom it leaves open; else None.

    Whom they accuse must come and go with the harm of the others: in few windows a steady load
    follows it by chance as well. It must have taken more than its fair share in this one too, and
    nothing in it may say that the harm of the others does not rise with its load. Who fails is
    not accused of this one; the first of them must not fail, for the reason speaks of it.
    """
    if alone.aggressors or not together.aggressors:
        return None
    suspects = {one.workload: one for one in alone.suspects}
    open_ones = [
        one.workload
        for one in together.suspects
        if one.is_aggressor and _comes_and_goes(one) and _is_open(suspects.get(one.workload))
    ]
    if together.aggressors[0] not in open_ones:
        return None
    told = [replace(one, is_aggressor=one.workload in open_ones) for one in together.suspects]
    return replace(
        together,
        aggressors=tuple(open_ones),
        suspects=tuple(sorted(told, key=lambda one: not one.is_aggressor)),
        # What they lost in this one.
        victims=tuple(one for one in alone.victims if one.workload not in open_ones),
    )


def _comes_and_goes(suspect: Suspect) -> bool:
    """Whether the others are clearly worse while it is active, at the same time.

    Of a burst of two windows, harm that comes two later says nothing: whoever was slowed by the
    burst is busy before and after it.
    """
    found, follows = suspect.experiment, suspect.dependence
    is_at_once = follows is not None and follows.lag_windows == 0
    return is_at_once and found is not None and found.shift_low > 0


def _is_open(suspect: Suspect | None) -> bool:
    """Whether it may have caused the incident, by what that alone says of it."""
    return (
        suspect is not None
        and suspect.part_ratio > suspect.fair_ratio
        and (suspect.dependence is None or suspect.dependence.high > 0)
    )


def _series(name: str, parts: Sequence[AttributionInputs]) -> WorkloadSeries:
    own = [next((one for one in part.series if one.workload == name), None) for part in parts]
    known = [(one, len(one.load)) for one in own if one is not None]
    windows = sum(count for _, count in known)
    has_harm = any(one is not None and one.harm is not None for one in own)
    pairs = list(zip(own, parts, strict=True))
    harm = [_or_none(one.harm if one else None, part) for one, part in pairs]
    load = [_or_none(one.load if one else None, part) for one, part in pairs]
    return WorkloadSeries(
        workload=name,
        load=_joined(load, gap=None),
        harm=_joined(harm, gap=None) if has_harm else None,
        entitlement=sum(one.entitlement * count for one, count in known) / windows
        if windows
        else 0.0,
    )


def _or_none(column: Column | None, part: AttributionInputs) -> Column:
    return (None,) * len(part.in_incident) if column is None else column


def _joined(parts: Sequence[tuple[Value, ...]], *, gap: Value) -> tuple[Value, ...]:
    """One after the other, with what belongs to none between."""
    found = parts[0]
    for part in parts[1:]:
        found = (*found, *(gap,) * _GAP, *part)
    return found
