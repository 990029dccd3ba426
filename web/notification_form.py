"""The forms of a rule and a channel of notifications: read as they were sent, and filled."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.core.digest import MORNING, Digest, Rhythm
from advisor.errors import DecisionRefused
from advisor.models import NotificationChannel
from advisor.models.notification import LONGEST_ADDRESS
from advisor.notifications.stated_rule import StatedRule

LONGEST_TEXT = 20_000
FIELDS = (
    "name", "channel", "least", "resources", "teams", "tags", "quiet", "zone",
    "quiet_for_stalls", "no_end",
)  # fmt: skip

CHANNEL_FIELDS = ("name", "kind", "address", "rhythm", "hour", "zone")


def form_of(rule: StatedRule) -> dict[str, str]:
    """What the form holds for a rule."""
    return {
        "name": rule.name,
        "channel": rule.channel,
        "least": rule.least,
        "resources": "\n".join(rule.resources),
        "teams": "\n".join(rule.teams),
        "tags": "\n".join(rule.tags),
        "quiet": "\n".join(rule.quiet),
        "zone": rule.zone,
        "quiet_for_stalls": "" if rule.grave_anyway else "on",
        "no_end": "" if rule.tells_end else "on",
    }


def sent_form(sent: Mapping[str, str]) -> dict[str, str]:
    """What was sent, as far as it is short enough to be shown again."""
    return {name: str(sent.get(name, "")).strip()[:LONGEST_TEXT] for name in FIELDS}


def rule_of_form(form: Mapping[str, str]) -> StatedRule:
    """The rule that a form states; DecisionRefused with what cannot be read."""
    if any("\x00" in text for text in form.values()):
        raise DecisionRefused("a text holds a character that cannot be stored")
    return StatedRule(
        name=form["name"],
        channel=form["channel"],
        least=form["least"],
        resources=_lines(form["resources"]),
        teams=_lines(form["teams"]),
        tags=_lines(form["tags"]),
        quiet=_lines(form["quiet"]),
        zone=form["zone"] or "UTC",
        grave_anyway=not form["quiet_for_stalls"],
        tells_end=not form["no_end"],
    )


def form_of_channel(row: NotificationChannel) -> dict[str, str]:
    """What the form holds for a channel, but its address, which no page shows."""
    return {
        "name": row.name,
        "kind": row.kind,
        "rhythm": row.rhythm,
        "hour": str(row.hour),
        "zone": row.zone,
        "is_kept": "yes",
    }


def sent_channel(sent: Mapping[str, str]) -> dict[str, str]:
    """What was sent, as far as it is short enough to be shown again."""
    return {one: str(sent.get(one, "")).strip()[: 2 * LONGEST_ADDRESS] for one in CHANNEL_FIELDS}


def digest_of_form(form: Mapping[str, str]) -> Digest | None:
    """When the channel sends what it gathers; DecisionRefused with what cannot be read."""
    if form["rhythm"] not in ("", *Rhythm):
        raise DecisionRefused("choose when it sends")
    if not form["rhythm"]:
        return None
    hour = form["hour"] or str(MORNING)
    if not (hour.isascii() and hour.isdecimal() and len(hour) < 3):
        raise DecisionRefused("a digest is sent at an hour from 0 to 23")
    return Digest(rhythm=Rhythm(form["rhythm"]), hour=int(hour), zone=form["zone"] or "UTC")


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
