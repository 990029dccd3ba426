"""The form of a rule of notifications: read from what was sent, and filled from a rule."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.errors import DecisionRefused
from advisor.notifications.stated_rule import StatedRule

LONGEST_TEXT = 20_000
FIELDS = (
    "name", "channel", "least", "resources", "teams", "tags", "quiet", "zone",
    "quiet_for_stalls", "no_end",
)  # fmt: skip


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


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())
