"""By whom a workload was harmed in incidents, and whom it harmed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.models import Workload
from advisor.queries.incidents import IncidentLine, affected_by

NOBODY = ""
"""Stands for incidents in which no workload took more than it was entitled to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmLine:
    """Another workload; empty is nobody. `lost_min` are minutes of service that were lost."""

    workload: str
    incidents: int
    lost_min: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """Those who took most first."""

    by: tuple[HarmLine, ...]
    whom: tuple[HarmLine, ...]


def harm_of(workload: Workload, lines: Sequence[IncidentLine], *, now: datetime) -> Harm:
    """In these incidents; what is lost in one is laid to its main aggressor."""
    names = {workload.name, *(name for name, _ in workload.identity.get("former", ()))}
    by: dict[str, list[float]] = defaultdict(list)
    whom: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        main = line.main_aggressor
        culprit = main.workload if main else NOBODY
        for one in affected_by(line, now=now):
            name = one.party.workload
            if name in names and culprit not in names:
                by[culprit].append(one.lost_min)
            if culprit in names and name not in names:
                whom[name].append(one.lost_min)
    return Harm(by=_lines(by), whom=_lines(whom))


def _lines(lost: Mapping[str, Sequence[float]]) -> tuple[HarmLine, ...]:
    found = [
        HarmLine(workload=name, incidents=len(minutes), lost_min=sum(minutes))
        for name, minutes in lost.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.lost_min, one.workload)))
