"""The rules that people state; a text with an error changes nothing."""

from __future__ import annotations

from datetime import datetime

from accounts.models import Organisation
from advisor.core.resource import Tier
from advisor.errors import InventoryError
from advisor.models import WorkloadRules
from ingest.core.identity.rules import RuleError, Rules, read_rules


class RulesError(InventoryError):
    """A text that holds no rules; it names every wrong line."""


def stated_rules(organisation: Organisation) -> str:
    """The text as it was stated; empty without rules."""
    stated = WorkloadRules.objects.filter(organisation=organisation).first()
    return stated.text if stated else ""


def rules_of(organisation: Organisation) -> Rules:
    """The rules in force."""
    return read_rules(stated_rules(organisation), tiers=list(Tier))


def set_rules(organisation: Organisation, text: str, *, now: datetime) -> Rules:
    """Take these rules instead of those before; they act when it is looked next."""
    try:
        rules = read_rules(text, tiers=list(Tier))
    except RuleError as error:
        raise RulesError(str(error)) from error
    WorkloadRules.objects.update_or_create(
        organisation=organisation, defaults={"text": text, "stated_at": now}
    )
    return rules
