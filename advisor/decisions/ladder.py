"""What the ladder says of a recommendation, and that it is heard before one is approved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction

from advisor.access import require_operator
from advisor.advice.registry import kind_of
from advisor.core.ladder.rule import LadderRule as Rule
from advisor.core.ladder.rule import Level
from advisor.core.ladder.verdict import DAY, Affected, Change, Past, Verdict, verdict
from advisor.core.resource import Tier
from advisor.decisions.ladder_rules import rule_of
from advisor.decisions.recommendation_steps import note_in_chain
from advisor.decisions.rollouts.begin import held_terms
from advisor.errors import DecisionRefused
from advisor.models import LadderRule, Recommendation, RecommendationState, Step, Workload
from advisor.pipeline.recommendation_life import note_step

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

CONFIRMED = "Confirmed. It takes a second person: another member has to approve it too."


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLadder:
    """The rules of an organisation, and the changes of late that they count.

    `tiers` are those of its workloads by name, empty where a workload has none.
    """

    rules: tuple[Rule, ...]
    past: tuple[Past, ...]
    tiers: Mapping[str, str]

    def verdict(self, row: Recommendation, *, now: datetime) -> Verdict:
        """What the rules say of one of its recommendations."""
        return verdict(_change(row, self.tiers), rules=self.rules, past=self.past, now=now)


def stated_ladder(organisation_id: int, *, now: datetime) -> StatedLadder:
    """The ladder of an organisation as it is now."""
    stated = LadderRule.objects.filter(organisation=organisation_id).select_related("resource")
    rules = tuple(map(rule_of, stated))
    longest = max((one.cooldown_s or 0.0 for one in rules), default=0.0)
    since = now - max(DAY, timedelta(seconds=longest))
    done = (
        Recommendation.objects.filter(
            organisation=organisation_id, state=RecommendationState.APPROVED, decided_at__gt=since
        )
        .select_related("resource")
        .defer("inputs", "summary")
    )
    tiers = dict(Workload.objects.filter(organisation=organisation_id).values_list("name", "tier"))
    past = tuple(
        Past(change=_change(one, tiers), at=one.decided_at)
        for one in (done if rules else ())
        if one.decided_at is not None
    )
    return StatedLadder(rules=rules, past=past, tiers=tiers)


def ladder_verdict(row: Recommendation, *, now: datetime) -> Verdict:
    """What the rules of its organisation say of it now."""
    return stated_ladder(row.organisation_id, now=now).verdict(row, now=now)


def _change(row: Recommendation, tiers: Mapping[str, str]) -> Change:
    answer, kind = json.loads(row.answer), kind_of(row)
    rows = answer.get("allocations") or answer.get("moves") or []
    names = sorted({one["workload"] for one in rows if one.get("workload")})
    affected = tuple(
        Affected(workload=name, tier=Tier(tiers[name]) if tiers.get(name) else None)
        for name in names
    )
    name = kind.name if kind else row.kind
    return Change(resource=row.resource.name, kind=name, affected=affected)


def why_held(found: Verdict) -> str:
    """Every rule that speaks against approving now; empty where none does."""
    said = []
    if found.level is Level.TELL:
        said.append(f'rule "{found.level_from}": {LEVEL_WORDS[found.level]}')
    for one in found.holds:
        until = f", until {one.until:%Y-%m-%d %H:%M} UTC" if one.until else ""
        said.append(f'rule "{one.rule}": {one.why}{until}')
    return "; ".join(said)


LEVEL_WORDS = {
    Level.TELL: "Sluice tells, and nothing is approved",
    Level.RECOMMEND: "people approve",
    Level.ASK: "Sluice asks, and one click approves",
    Level.ACT: "Sluice approves by itself",
}


def level_text(row: Recommendation, found: Verdict) -> str:
    """The rule that says how far Sluice may go with it; empty where none does."""
    said = []
    if found.level_from:
        said.append(
            f'rule "{found.level_from}", the most conservative one: {LEVEL_WORDS[found.level]}'
        )
    if found.level is Level.ACT and not found.holds:
        said.append(f"it did not: {row.act_gap}" if row.act_gap else "it looks every half minute")
    said += [f'rule "{rule}": two people approve' for rule in found.two_people]
    return "; ".join(said)


def require_ladder(row: Recommendation, *, user: AbstractBaseUser, now: datetime) -> None:
    """Raise DecisionRefused if a rule holds the change up, or a second person is missing."""
    # Two approvals at once are counted one after the other, so that a cap holds.
    held_terms(row.organisation)
    found = ladder_verdict(row, now=now)
    if reason := why_held(found):
        raise DecisionRefused(f"the ladder does not let it: {reason}")
    if not found.two_people:
        return
    row.refresh_from_db(fields=["confirmed_by"])
    if row.confirmed_by is None or row.confirmed_by.pk == user.pk:
        rule = found.two_people[0]
        raise DecisionRefused(
            f'rule "{rule}" asks for two people: another than {user.get_username()}, too'
            if row.confirmed_by_id
            else f'rule "{rule}" asks for two people, and nobody has confirmed it yet'
        )


@transaction.atomic
def confirm_first(
    *, recommendation: Recommendation, user: AbstractBaseUser, now: datetime
) -> bool:
    """Take this approval as the first of two; False if it takes no first one any more."""
    actor = require_operator(user, recommendation.organisation)
    found = ladder_verdict(recommendation, now=now)
    if not found.two_people or why_held(found):
        return False
    unconfirmed = Recommendation.objects.open_at(now).filter(
        pk=recommendation.pk, confirmed_by=None
    )
    if not unconfirmed.update(confirmed_by_id=user.pk, confirmed_at=now):
        return False
    note_step(recommendation, Step.CONFIRMED, now=now, actor=actor)
    note_in_chain(recommendation, actor, "confirm", now=now)
    return True
