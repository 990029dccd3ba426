"""The ladder's rules as people state them: set, remove, and take that back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from django.core import serializers
from django.db import transaction

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Action
from accounts.services.audit import record
from advisor.core.ladder.rule import Freeze, Level, problems_of_rule
from advisor.core.ladder.rule import LadderRule as Rule
from advisor.core.resource import Tier
from advisor.decisions.rollouts.begin import held_terms
from advisor.errors import DecisionRefused
from advisor.models import LadderRule, Resource


def rule_of(row: LadderRule) -> Rule:
    """The rule that a row states."""
    freeze = None
    if row.frozen_from is not None and row.frozen_until is not None:
        freeze = Freeze(since=row.frozen_from, until=row.frozen_until, reason=row.frozen_because)
    return Rule(
        name=row.name,
        resource=row.resource.name if row.resource else "",
        tier=Tier(row.tier) if row.tier else None,
        kind=row.kind,
        level=Level(row.level) if row.level else None,
        windows=tuple(row.windows),
        zone=row.zone,
        freeze=freeze,
        cooldown_s=row.cooldown_s,
        most_changes_per_day=row.most_changes_per_day,
        second_person=row.second_person,
    )


@transaction.atomic
def state_rule(row: LadderRule, *, actor: Actor, now: datetime) -> LadderRule:
    """Set a rule, in the place of one of the same name; told in the audit chain."""
    actor.require(Action.MANAGE_LADDER)
    check_rule(row)
    held_terms(row.organisation)
    former = _of_name(row.organisation, row.name)
    row.pk = former.pk if former else None
    row.save()
    _note(row, actor, "set a rule of the ladder", now)
    return row


def check_rule(row: LadderRule) -> None:
    """Raise DecisionRefused with the first thing that it says and cannot be."""
    for problem in problems_of_rule(rule_of(row)):
        raise DecisionRefused(problem)


@transaction.atomic
def remove_rule(*, organisation: Organisation, name: str, actor: Actor, now: datetime) -> None:
    """Remove a rule; told in the audit chain, because it lets happen what it held back."""
    actor.require(Action.MANAGE_LADDER)
    held_terms(organisation)
    row = _of_name(organisation, name)
    if row is None:
        raise DecisionRefused(f'there is no rule "{name}"')
    _note(row, actor, "remove a rule of the ladder", now)
    row.delete()


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """What a rule said before a change and after it, as `rule_text`; None where there was none."""

    name: str
    before: str | None
    after: str | None


@transaction.atomic
def undo(change: Undo, *, organisation: Organisation, actor: Actor, now: datetime) -> None:
    """Bring a rule back to what it said; refused if somebody changed it since."""
    actor.require(Action.MANAGE_LADDER)
    held_terms(organisation)
    if rule_text(organisation, change.name) != change.after:
        raise DecisionRefused(f'rule "{change.name}" was changed since')
    former = former_rule(change, organisation)
    if former is None:
        remove_rule(organisation=organisation, name=change.name, actor=actor, now=now)
    else:
        state_rule(former, actor=actor, now=now)


def former_rule(change: Undo, organisation: Organisation) -> LadderRule | None:
    """The rule as it was before a change; None if there was none."""
    return None if change.before is None else _from_text(organisation, change.before)


def rule_text(organisation: Organisation, name: str) -> str | None:
    """All that a rule says; None if there is none of this name."""
    row = _of_name(organisation, name)
    if row is None:
        return None
    (stored,) = json.loads(serializers.serialize("json", [row]))
    # Its number is another one after it was removed and set again.
    del stored["pk"]
    return json.dumps(stored)


def _from_text(organisation: Organisation, text: str) -> LadderRule:
    (stored,) = serializers.deserialize("json", f"[{text}]")
    row = stored.object
    assert isinstance(row, LadderRule)
    own = Resource.objects.filter(organisation=organisation)
    if row.resource_id is not None and not own.filter(pk=row.resource_id).exists():
        raise DecisionRefused(f'the resource of rule "{row.name}" is gone')
    row.organisation = organisation
    return row


def _of_name(organisation: Organisation, name: str) -> LadderRule | None:
    rows = LadderRule.objects.filter(organisation=organisation, name=name)
    return rows.select_related("resource").first()


def _note(row: LadderRule, actor: Actor, action: str, now: datetime) -> None:
    record(
        organisation=row.organisation, actor=actor, action=action, subject=row.name,
        now=now, details=_stated(row),
    )  # fmt: skip


def _stated(row: LadderRule) -> dict[str, str]:
    """What the rule says, by the names of its settings."""
    said = {
        "resource": row.resource.name if row.resource else "", "tier": row.tier,
        "kind": row.kind, "level": row.level,
        "windows": f"{', '.join(row.windows)} ({row.zone})" if row.windows else "",
        "frozen_from": row.frozen_from, "frozen_until": row.frozen_until,
        "cooldown_s": row.cooldown_s, "most_changes_per_day": row.most_changes_per_day,
        "second_person": "yes" if row.second_person else "",
    }  # fmt: skip
    return {name: str(value) for name, value in said.items() if value not in ("", None)}
