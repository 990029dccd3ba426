"""What windows of a resource were said to be before samples that came late changed it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from advisor.core.enumeration import MOST_NAMED
from advisor.models import EarlierStates, Resource, State

SHOWN = 3
"""So many times that windows were judged again, the newest ones."""
MOST_STRETCHES = 10
"""So many stretches of each of these times; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """Windows in (since, until] of one state; `value` is their highest, None if none had one."""

    since: datetime
    until: datetime
    state: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierStretch:
    """The states of windows in (since, until] as they were said until `replaced_at`.

    `runs` are the first of those that were not clear, and `left_out` counts the others. `more`
    counts the later stretches of that time that are left out.
    """

    replaced_at: datetime
    since: datetime
    until: datetime
    runs: tuple[EarlierRun, ...]
    left_out: int
    more: int = 0


def earlier_states(resource: Resource) -> list[EarlierStretch]:
    """The newest times that windows of the resource were judged again and changed."""
    rows = EarlierStates.objects.filter(resource=resource)
    times = rows.order_by("-replaced_at").values_list("replaced_at", flat=True).distinct()
    found: list[EarlierStretch] = []
    for at in times[:SHOWN]:
        own = _stretches(rows.filter(replaced_at=at).order_by("since"))
        shown = [_stretch(at, one) for one in own[:MOST_STRETCHES]]
        shown[-1] = replace(shown[-1], more=len(own) - len(shown))
        found += shown
    return found


def _stretches(rows: Iterable[EarlierStates]) -> list[list[EarlierStates]]:
    """Rows that follow one another; of windows between them the states stayed as they were."""
    found: list[list[EarlierStates]] = []
    for row in rows:
        if found and found[-1][-1].until == row.since:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _stretch(replaced_at: datetime, rows: list[EarlierStates]) -> EarlierStretch:
    said = [run for run in _joined(rows) if run.state != State.CLEAR]
    return EarlierStretch(
        replaced_at=replaced_at,
        since=rows[0].since,
        until=rows[-1].until,
        runs=tuple(said[:MOST_NAMED]),
        left_out=max(len(said) - MOST_NAMED, 0),
    )


def _joined(rows: Iterable[EarlierStates]) -> list[EarlierRun]:
    """The runs of all rows; one that is divided between two rows is one."""
    found: list[EarlierRun] = []
    for run in (_run(stored) for row in rows for stored in row.states):
        if found and (found[-1].state, found[-1].until) == (run.state, run.since):
            found.append(_one(found.pop(), run))
        else:
            found.append(run)
    return found


def _one(first: EarlierRun, second: EarlierRun) -> EarlierRun:
    values = [one for one in (first.value, second.value) if one is not None]
    return EarlierRun(
        since=first.since,
        until=second.until,
        state=first.state,
        value=max(values, default=None),
    )


def _run(stored: Mapping[str, Any]) -> EarlierRun:
    return EarlierRun(
        since=datetime.fromisoformat(stored["since"]),
        until=datetime.fromisoformat(stored["until"]),
        state=stored["state"],
        value=stored["value"],
    )
