"""The form of a rule of notifications: read from what was sent, and filled from a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accounts.models import Organisation
from advisor.core.notifying import Severity
from advisor.errors import DecisionRefused
from advisor.models import NotificationChannel, NotificationRule, Resource

LONGEST_TEXT = 20_000
MOST_RESOURCES = 200
SEVERITIES = {one.name.lower(): one for one in Severity}
FIELDS = (
    "name", "channel", "least", "resources", "quiet", "zone", "quiet_for_stalls", "no_end",
)  # fmt: skip


def form_of(row: NotificationRule) -> dict[str, str]:
    """What the form holds for a rule."""
    return {
        "name": row.name,
        "channel": row.channel.name,
        "least": Severity(row.least).name.lower(),
        "resources": "\n".join(one.name for one in row.resources.all()),
        "quiet": "\n".join(row.quiet),
        "zone": row.zone,
        "quiet_for_stalls": "" if row.grave_anyway else "on",
        "no_end": "" if row.tells_end else "on",
    }


def sent_form(sent: Mapping[str, str]) -> dict[str, str]:
    """What was sent, as far as it is short enough to be shown again."""
    return {name: str(sent.get(name, "")).strip()[:LONGEST_TEXT] for name in FIELDS}


def rule_of_form(
    form: Mapping[str, str], organisation: Organisation
) -> tuple[NotificationRule, list[Resource]]:
    """The rule that a form states, and of what; DecisionRefused with what cannot be read."""
    if any("\x00" in text for text in form.values()):
        raise DecisionRefused("a text holds a character that cannot be stored")
    channels = NotificationChannel.objects.filter(organisation=organisation)
    channel = channels.filter(name=form["channel"]).first()
    if channel is None:
        raise DecisionRefused(f'there is no channel "{form["channel"]}"')
    if form["least"] not in SEVERITIES:
        raise DecisionRefused(f"it tells from one of {', '.join(SEVERITIES)} on")
    row = NotificationRule(
        organisation=organisation,
        name=form["name"],
        channel=channel,
        least=SEVERITIES[form["least"]].value,
        quiet=_lines(form["quiet"]),
        zone=form["zone"] or "UTC",
        grave_anyway=not form["quiet_for_stalls"],
        tells_end=not form["no_end"],
    )
    return row, _resources(_lines(form["resources"]), organisation)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _resources(names: Sequence[str], organisation: Organisation) -> list[Resource]:
    if len(names) > MOST_RESOURCES:
        raise DecisionRefused(f"{len(names)} resources; a rule names {MOST_RESOURCES} at most")
    rows = Resource.objects.filter(organisation=organisation, name__in=names)
    found = {one.name: one for one in rows}
    for name in names:
        if name not in found:
            raise DecisionRefused(f'there is no resource "{name}"')
    return [found[name] for name in dict.fromkeys(names)]
