"""A rule of notifications as people state it, by names: in a form, the API or a policy file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.models import Organisation
from advisor.core.notifying import SEVERITIES, Severity, problems_of_lengths
from advisor.errors import DecisionRefused
from advisor.models import NotificationChannel, NotificationRule, Resource, Team


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRule:
    """All that a rule says; without resources it is of all, without teams and tags of whomever."""

    name: str
    channel: str
    least: str = "congested"
    resources: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    zone: str = "UTC"
    grave_anyway: bool = True
    tells_end: bool = True


def stated(row: NotificationRule) -> StatedRule:
    """What a row says."""
    return StatedRule(
        name=row.name,
        channel=row.channel.name,
        least=Severity(row.least).name.lower(),
        resources=tuple(sorted(one.name for one in row.resources.all())),
        teams=tuple(row.teams),
        tags=tuple(row.tags),
        quiet=tuple(row.quiet),
        zone=row.zone,
        grave_anyway=row.grave_anyway,
        tells_end=row.tells_end,
    )


def row_of(
    rule: StatedRule, organisation: Organisation
) -> tuple[NotificationRule, list[Resource]]:
    """A row that says it, not yet stored, and of what; DecisionRefused with what there is not."""
    for problem in problems_of_lengths(resources=rule.resources, teams=rule.teams):
        raise DecisionRefused(problem)
    channels = NotificationChannel.objects.filter(organisation=organisation)
    channel = channels.filter(name=rule.channel).first()
    if channel is None:
        raise DecisionRefused(f'there is no channel "{rule.channel}"')
    if rule.least not in SEVERITIES:
        raise DecisionRefused(f"it tells from one of {', '.join(SEVERITIES)} on")
    row = NotificationRule(
        organisation=organisation,
        name=rule.name,
        channel=channel,
        least=SEVERITIES[rule.least].value,
        teams=_teams(rule.teams, organisation),
        tags=sorted(set(rule.tags)),
        quiet=list(rule.quiet),
        zone=rule.zone,
        grave_anyway=rule.grave_anyway,
        tells_end=rule.tells_end,
    )
    return row, _resources(rule.resources, organisation)


def _teams(names: Sequence[str], organisation: Organisation) -> list[str]:
    rows = Team.objects.filter(organisation=organisation, name__in=names)
    found = set(rows.values_list("name", flat=True)) if names else set()
    for name in names:
        if name not in found:
            raise DecisionRefused(f'there is no team "{name}"')
    return sorted(found)


def _resources(names: Sequence[str], organisation: Organisation) -> list[Resource]:
    rows = Resource.objects.filter(organisation=organisation, name__in=names)
    found = {one.name: one for one in rows}
    for name in names:
        if name not in found:
            raise DecisionRefused(f'there is no resource "{name}"')
    return [found[name] for name in dict.fromkeys(names)]
