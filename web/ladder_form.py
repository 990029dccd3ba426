"""The form of a rule of the ladder: read from what was sent, and filled from a rule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from accounts.models import Organisation
from advisor.advice.registry import KINDS
from advisor.core.ladder.rule import Level
from advisor.core.resource import Tier
from advisor.core.weekly_window import zone_of
from advisor.decisions.policy_file.decide.quantities import length_text, parse_length
from advisor.errors import DecisionRefused
from advisor.models import LadderRule, Resource

LONGEST_TEXT = 2000
KIND_NAMES = tuple(one.name for one in KINDS)
FIELDS = (
    "name", "resource", "tier", "kind", "level", "windows", "zone", "frozen_from",
    "frozen_until", "because", "cool_down", "most_per_day", "second_person",
)  # fmt: skip


def form_of(row: LadderRule) -> dict[str, str]:
    """What the form holds for a rule."""
    zone = zone_of(row.zone)
    return {
        "name": row.name,
        "resource": row.resource.name if row.resource else "",
        "tier": row.tier,
        "kind": row.kind,
        "level": row.level,
        "windows": "\n".join(row.windows),
        "zone": row.zone,
        "frozen_from": _clock(row.frozen_from, zone),
        "frozen_until": _clock(row.frozen_until, zone),
        "because": row.frozen_because,
        "cool_down": "" if row.cooldown_s is None else _length(row.cooldown_s),
        "most_per_day": "" if row.most_changes_per_day is None else str(row.most_changes_per_day),
        "second_person": "on" if row.second_person else "",
    }


def _clock(at: datetime | None, zone: ZoneInfo) -> str:
    return "" if at is None else f"{at.astimezone(zone):%Y-%m-%dT%H:%M}"


def _length(seconds: float) -> str:
    text = length_text(seconds)
    return text if isinstance(text, str) else f"{seconds / 60:g}min"


def sent_form(sent: Mapping[str, str]) -> dict[str, str]:
    """What was sent, as far as it is short enough to be shown again."""
    return {name: str(sent.get(name, "")).strip()[:LONGEST_TEXT] for name in FIELDS}


def rule_of_form(form: Mapping[str, str], organisation: Organisation) -> LadderRule:
    """The rule that a form states; DecisionRefused with what cannot be read."""
    if any("\x00" in text for text in form.values()):
        raise DecisionRefused("a text holds a character that cannot be stored")
    zone = form["zone"] or "UTC"
    _check_zone(zone)
    frozen_from, frozen_until = _time(form, "frozen_from", zone), _time(form, "frozen_until", zone)
    if (frozen_from is None) != (frozen_until is None):
        raise DecisionRefused("a freeze has a beginning and an end")
    return LadderRule(
        organisation=organisation,
        name=form["name"],
        resource=_resource(form["resource"], organisation),
        tier=_one_of("tier", form["tier"], tuple(Tier)),
        kind=_one_of("kind of advice", form["kind"], KIND_NAMES),
        level=_one_of("level", form["level"], tuple(Level)),
        windows=[line.strip() for line in form["windows"].splitlines() if line.strip()],
        zone=zone,
        frozen_from=frozen_from,
        frozen_until=frozen_until,
        frozen_because=form["because"],
        cooldown_s=_seconds(form["cool_down"]),
        most_changes_per_day=_count(form["most_per_day"]),
        second_person=bool(form["second_person"]),
    )


def _check_zone(zone: str) -> None:
    try:
        zone_of(zone)
    except ValueError as error:
        raise DecisionRefused(str(error)) from error


def _resource(name: str, organisation: Organisation) -> Resource | None:
    if not name:
        return None
    found = Resource.objects.filter(organisation=organisation, name=name).first()
    if found is None:
        raise DecisionRefused(f'there is no resource "{name}"')
    return found


def _one_of(what: str, word: str, words: tuple[str, ...]) -> str:
    if word and word not in words:
        raise DecisionRefused(f'"{word}" is no {what}; there are: {", ".join(words)}')
    return word


def _time(form: Mapping[str, str], name: str, zone: str) -> datetime | None:
    text = form[name]
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else at.replace(tzinfo=zone_of(zone))
    except ValueError as error:
        raise DecisionRefused(f'"{text}" is not a time; write it like 2026-12-20T00:00') from error


def _seconds(text: str) -> float | None:
    seconds = parse_length(text) if text else None
    if text and seconds is None:
        raise DecisionRefused(f'"{text}" is not a length; write it like 90min, 6h or 2d')
    return seconds


def _count(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < _LONGEST_COUNT):
        raise DecisionRefused(f'"{text}" is no number of changes; write it like 5')
    return int(text)


_LONGEST_COUNT = 9
