"""Whom an incident concerns, for rules of a team or of workloads with a tag."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from advisor.models import Allocation, Incident, NotificationRule, Team, Workload


def tags_of_rules(
    organisation: int, rows: Iterable[NotificationRule]
) -> dict[int, frozenset[str] | None]:
    """By rule the tags that workloads of its teams have, and its own; None if it states neither.

    A team that is not there owns nothing.
    """
    stated = [row for row in rows if row.teams or row.tags]
    owned = _tags_of_teams(organisation, {name for row in stated for name in row.teams})
    found: dict[int, frozenset[str] | None] = dict.fromkeys((row.pk for row in rows), None)
    for row in stated:
        teams = [owned.get(name, ()) for name in row.teams]
        found[row.pk] = frozenset(row.tags).union(*teams)
    return found


def _tags_of_teams(organisation: int, names: set[str]) -> dict[str, Sequence[str]]:
    if not names:
        return {}
    rows = Team.objects.filter(organisation=organisation, name__in=names)
    return dict(rows.values_list("name", "tags"))


def tags_of_incidents(
    organisation: int, incidents: Sequence[Incident]
) -> Mapping[int, frozenset[str]]:
    """By incident the tags of who takes more or gets less than its due.

    Where nothing completes, of everybody who has an allocation there.
    """
    names = {one.pk: _parties(one) for one in incidents}
    every = {name for parties in names.values() for name in parties}
    rows = Workload.objects.filter(organisation=organisation, name__in=every).order_by()
    tags = dict(rows.values_list("name", "tags")) if every else {}
    users = _tags_of_users({one.resource_id for one in incidents if one.stalled_windows})
    return {
        one.pk: frozenset(users[one.resource_id] if one.stalled_windows else ()).union(
            *(tags.get(name, ()) for name in names[one.pk])
        )
        for one in incidents
    }


def _parties(incident: Incident) -> set[str]:
    parties = (*incident.culprits, *incident.only_took_more, *incident.victims)
    return {str(one["workload"]) for one in parties}


def _tags_of_users(resources: set[int]) -> Mapping[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    if resources:
        rows = Allocation.objects.filter(resource__in=resources, vanished_at=None).order_by()
        for resource, tags in rows.values_list("resource_id", "workload__tags"):
            found[resource].update(tags)
    return found
