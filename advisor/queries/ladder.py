"""The ladder for its page: what each rule says, and what holds where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.models import Organisation
from advisor.advice.registry import kind_words
from advisor.core.duration import duration_text
from advisor.core.ladder.verdict import Affected, Change, Verdict, verdict
from advisor.core.resource import Tier
from advisor.decisions.ladder import StatedLadder, level_text, stated_ladder, why_held
from advisor.models import LadderRule, Recommendation
from advisor.queries.ladder_change import Effect, effect

KIND = "policy"
"""The kind of advice of a scope whose rules name none."""
MOST_OPEN = 20


def rule_says(row: LadderRule) -> str:
    """What it states beside its level."""
    return "; ".join(filter(None, _said(row)))


def _said(row: LadderRule) -> Iterable[str]:
    if row.windows:
        yield f"{', '.join(row.windows)} ({row.zone})"
    if row.frozen_from and row.frozen_until:
        yield (
            f"frozen from {row.frozen_from:%Y-%m-%d %H:%M} until "
            f"{row.frozen_until:%Y-%m-%d %H:%M} UTC: {row.frozen_because}"
        )
    if row.cooldown_s is not None:
        yield f"cool-down {duration_text(timedelta(seconds=row.cooldown_s))}"
    if row.most_changes_per_day is not None:
        yield f"{row.most_changes_per_day} a day"
    if row.second_person:
        yield "two people"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What holds for workloads of a tier: the verdict, and what holds a change up now."""

    tier: Tier
    verdict: Verdict
    held: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A resource that rules name, empty for every other, and what the advice is about."""

    resource: str
    words: str
    tiers: tuple[Standing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAdvice:
    """A recommendation that waits, and what the rules say of it."""

    row: Recommendation
    level: str
    held: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRule:
    """A rule, what its advice is about, what it says, and what its removal does."""

    row: LadderRule
    about: str
    says: str
    removal: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderView:
    """All rules, what holds by scope, and what that means for what waits."""

    rules: tuple[ShownRule, ...]
    scopes: tuple[Scope, ...]
    waiting: tuple[OpenAdvice, ...]


def ladder_view(
    organisation: Organisation, waiting: Sequence[Recommendation], *, now: datetime
) -> LadderView:
    """The ladder of an organisation, with those of its open recommendations."""
    rows = LadderRule.objects.filter(organisation=organisation).select_related("resource")
    stated = stated_ladder(organisation.pk, now=now)
    named = {(one.resource, one.kind or KIND) for one in stated.rules} | {("", KIND)}
    # Those that are named come first; what is left holds for all others.
    places = sorted(named, key=lambda one: (not one[0], one))
    return LadderView(
        rules=tuple(
            ShownRule(
                row=row,
                about=kind_words(row.kind),
                says=rule_says(row),
                removal=effect(stated.rules, row.name, None),
            )
            for row in rows
        ),
        scopes=tuple(_scope(resource, kind, stated, now) for resource, kind in places),
        waiting=tuple(_open(row, stated, now) for row in waiting),
    )


def _scope(resource: str, kind: str, stated: StatedLadder, now: datetime) -> Scope:
    return Scope(
        resource=resource,
        words=kind_words(kind),
        tiers=tuple(_standing(resource, kind, tier, stated, now) for tier in Tier),
    )


def _standing(
    resource: str, kind: str, tier: Tier, stated: StatedLadder, now: datetime
) -> Standing:
    # Of no workload in particular, so that no cool-down speaks.
    change = Change(resource=resource, kind=kind, affected=(Affected(workload="", tier=tier),))
    found = verdict(change, rules=stated.rules, past=stated.past, now=now)
    return Standing(tier=tier, verdict=found, held=why_held(found))


def _open(row: Recommendation, stated: StatedLadder, now: datetime) -> OpenAdvice:
    found = stated.verdict(row, now=now)
    return OpenAdvice(row=row, level=level_text(row, found), held=why_held(found))
