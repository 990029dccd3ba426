"""Which workloads a team owns, and what they use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from accounts.models.organisation import OrganisationOwnedQuerySet
from advisor.models import Allocation, Team, Workload
from advisor.queries.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamReach:
    """A team, and the keys of what its workloads use now."""

    team: Team
    resources: frozenset[int]
    hosts: frozenset[int]


def owned_by(
    rows: OrganisationOwnedQuerySet[Workload], team: Team
) -> OrganisationOwnedQuerySet[Workload]:
    """Those of the workloads that the team owns: one of its tags is enough."""
    return rows.filter(tags__has_any_keys=team.tags)


def teams_of(tags: Collection[str], teams: Sequence[Team]) -> list[Team]:
    """The teams that own a workload with these tags."""
    return [team for team in teams if not set(tags).isdisjoint(team.tags)]


def team_names(scope: Scope) -> dict[int, tuple[str, ...]]:
    """By workload the names of the teams that own it, in their order; the others are left out."""
    teams = list(scope.rows(Team))
    every = sorted({tag for team in teams for tag in team.tags})
    if not every:
        return {}
    rows = scope.rows(Workload).filter(tags__has_any_keys=every).order_by()
    return {
        pk: tuple(team.name for team in teams_of(tags, teams))
        for pk, tags in rows.values_list("pk", "tags")
    }


def reach_of(scope: Scope, team: Team) -> TeamReach:
    """What the team's workloads use."""
    used = Allocation.objects.filter(
        workload__in=owned_by(scope.rows(Workload), team).order_by(), vanished_at=None
    )
    pairs = list(used.order_by().values_list("resource_id", "host_id").distinct())
    return TeamReach(
        team=team,
        resources=frozenset(resource for resource, _ in pairs),
        hosts=frozenset(host for _, host in pairs),
    )
