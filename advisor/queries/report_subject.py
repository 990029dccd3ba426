"""Whose report it is: an organisation, a team of it, or the workloads with a tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q

from accounts.models import Organisation
from advisor.models import Allocation, Policy, Team, Workload
from advisor.models.workload import WORKLOAD_DETAILS
from advisor.queries.teams import owned_by


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSubject:
    """The workloads that a report is about: one, those of a team or with a tag, or all."""

    organisation: Organisation
    team: Team | None = None
    tag: str = ""
    workload: Workload | None = None

    @property
    def text(self) -> str:
        """What it is called."""
        parts = [f"team {self.team.name}"] if self.team else []
        parts += [f"workloads with {self.tag}"] if self.tag else []
        parts += [f"workload {self.workload.name}"] if self.workload else []
        return ", ".join(parts) or "all workloads"

    @property
    def is_whole(self) -> bool:
        """Whether it is about all of the organisation."""
        return self.team is None and not self.tag and self.workload is None


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What was there in a period: workloads by their keys, and their allocations."""

    workloads: dict[int, Workload]
    allocations: Sequence[Allocation]

    @cached_property
    def names(self) -> dict[str, int]:
        """The keys of workloads by their names."""
        return {one.name: key for key, one in self.workloads.items()}

    @cached_property
    def former(self) -> dict[str, list[tuple[datetime, int]]]:
        """By former names until when which workload had it."""
        found: dict[str, list[tuple[datetime, int]]] = {}
        for key, one in self.workloads.items():
            for name, until in one.identity.get("former", ()):
                found.setdefault(name, []).append((datetime.fromisoformat(until), key))
        return found

    def named(self, name: str, *, at: datetime) -> int | None:
        """The workload that had the name at this moment; None is another's."""
        earlier = (key for until, key in self.former.get(name, ()) if at < until)
        return next(earlier, self.names.get(name))

    def by_workload(self) -> Iterator[tuple[int, list[Allocation]]]:
        """The allocations of each workload."""
        own: dict[int, list[Allocation]] = {key: [] for key in self.workloads}
        for one in self.allocations:
            own[one.workload_id].append(one)
        yield from own.items()


def reported_of(
    subject: ReportSubject, *, since: datetime, promised_only: bool = False
) -> Reported:
    """The workloads that were there after `since`; two statements.

    With `promised_only` of their allocations those alone that may have had a promise or a limit.
    """
    was_there = Q(vanished_at=None) | Q(vanished_at__gt=since)
    rows = Workload.objects.filter(was_there, organisation=subject.organisation)
    if subject.team is not None:
        rows = owned_by(rows, subject.team)
    if subject.workload is not None:
        rows = rows.filter(pk=subject.workload.pk)
    if subject.tag:
        rows = rows.filter(tags__has_key=subject.tag)
    workloads = {one.pk: one for one in rows.only("name", "tier", "identity").order_by("name")}
    allocations = (
        Allocation.objects.filter(was_there, workload__in=rows.order_by().values("pk"))
        .select_related("workload", "host", "resource")
        .defer(*WORKLOAD_DETAILS)
        # Those of one resource are stored together.
        .order_by("resource_id", "pk")
    )
    if promised_only:
        promised = Q(reservation__gt=0) | Q(limit__isnull=False)
        # A version grants them beside what is stated.
        granted = Policy.objects.filter(resource__organisation=subject.organisation)
        allocations = allocations.filter(promised | Q(resource__in=granted.values("resource")))
    return Reported(workloads=workloads, allocations=list(allocations))
