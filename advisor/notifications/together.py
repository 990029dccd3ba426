"""One message about several incidents: what goes on first, the gravest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from advisor.core.enumeration import listed
from advisor.core.notifying import News, Severity
from advisor.models.notification import Delivery, ToldIncident
from advisor.notifications.message import Link, Message, home_links, read_message, state_words

MOST_TOLD = 50
MOST_LINKS = 10
WAS = {
    Severity.CONGESTED: "was congested",
    Severity.PROMISE_MISSED: "was congested, and a reservation was missed",
    Severity.STALLED: "was stalled",
}


def message_together(pieces: Sequence[Delivery]) -> Message:
    """What these have to say as it is now; two rules that tell the same tell it once."""
    told = {
        (one.told.resource_id, one.told.since): (one.told, read_message(one.message))
        for one in sorted(pieces, key=lambda one: one.pk)
        if one.told is not None
    }
    ordered = sorted(told.values(), key=lambda one: _order(one[0]))
    lines = [_line(one, message) for one, message in ordered[:MOST_TOLD]]
    if len(ordered) > MOST_TOLD:
        lines.append(f"And {len(ordered) - MOST_TOLD} more, which the pages show.")
    links = tuple(link for one, message in ordered for link in _link(one, message))
    return Message(
        subject=_subject([one for one, _ in ordered]),
        lines=tuple(lines),
        links=(links[:MOST_LINKS] + home_links()) if links else home_links(),
        facts={
            "news": News.SEVERAL,
            "incidents": [_facts(one, message) for one, message in ordered],
        },
        is_good=all(one.is_over for one, _ in ordered),
    )


def _order(told: ToldIncident) -> tuple[bool, int, datetime, int]:
    return told.is_over, -told.severity, told.since, told.pk


def _subject(told: Sequence[ToldIncident]) -> str:
    if len(told) == 1:
        return f"{told[0].resource.name} {_state(told[0])}"
    lasting = sum(not one.is_over for one in told)
    known = {0: "all over", len(told): "all go on", 1: "one goes on"}
    goes_on = known.get(lasting, f"{lasting} go on")
    names = listed(dict.fromkeys(one.resource.name for one in told))
    return f"{len(told)} incidents, {goes_on}: {names}"


def _state(told: ToldIncident) -> str:
    severity = Severity(told.severity)
    return WAS[severity] if told.is_over else state_words(severity)


def _line(told: ToldIncident, message: Message) -> str:
    """What it was, and whatever its own message says beside its sentence."""
    name, since = told.resource.name, f"{told.since:%Y-%m-%d %H:%M}"
    sentence = f"{name} {_state(told)} since {since} UTC."
    if told.is_over:
        until = told.until or told.since
        minutes = max(1, round((until - told.since).total_seconds() / 60))
        lasting = f"{minutes} minute{'' if minutes == 1 else 's'}"
        sentence = f"{name} {_state(told)} for {lasting} from {since} UTC on."
    return " ".join([sentence, *message.lines[1:]])


def _link(told: ToldIncident, message: Message) -> list[Link]:
    """Its last link leads to the incident."""
    return [Link(words=told.resource.name, url=one.url) for one in message.links[-1:]]


def _facts(told: ToldIncident, message: Message) -> dict[str, Any]:
    return {
        "resource": told.resource.name,
        "severity": Severity(told.severity).words,
        "since": told.since.isoformat(),
        "until": told.until and told.until.isoformat(),
        "is_over": told.is_over,
        "incident": (message.facts or {}).get("incident"),
    }
