"""What a change of a rule of the ladder does, in words for those who make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from accounts.models import Organisation
from advisor.advice.registry import kind_words
from advisor.core.enumeration import clauses, listed
from advisor.core.ladder.change import TIERS, Place, Shift, shifts
from advisor.core.ladder.rule import LadderRule as Rule
from advisor.decisions.ladder_rules import rule_of
from advisor.models import POLICY_TOPIC, LadderRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Where Sluice will approve by itself, empty for nowhere, and what else becomes of advice."""

    acts: str
    said: tuple[str, ...]


def effect_of_change(organisation: Organisation, name: str, row: LadderRule | None) -> Effect:
    """What a rule of this name does when it says what a row does; None: when it is removed."""
    rows = LadderRule.objects.filter(organisation=organisation).select_related("resource")
    return effect(tuple(map(rule_of, rows)), name, None if row is None else rule_of(row))


def effect(rules: Sequence[Rule], name: str, stated: Rule | None) -> Effect:
    """What becomes of the ladder with a rule of this name as stated; None: without it."""
    others = [one for one in rules if one.name != name]
    found = shifts(rules, [*others, *([stated] if stated else [])], kind=POLICY_TOPIC)
    former = next((one for one in rules if one.name == name), None)
    return Effect(
        acts=_acts([one for one in found if one.lets_act], found),
        said=tuple(_said(former, others, found)),
    )


def _acts(lets: Sequence[Shift], found: Sequence[Shift]) -> str:
    if not lets:
        return ""
    by = listed(sorted({one.level_from for one in lets}))
    rules = "rule" if len({one.level_from for one in lets}) == 1 else "rules"
    where = _where([one.place for one in lets], [one.place for one in found])
    return f"Sluice will then approve by itself ({rules} {by}): {where}."


def _said(former: Rule | None, others: Sequence[Rule], found: Sequence[Shift]) -> Iterator[str]:
    places = [one.place for one in found]
    stopped = [one.place for one in found if one.acts_no_more]
    if stopped:
        yield f"Sluice approves by itself no more: {_where(stopped, places)}."
    if former is None:
        return
    if former.level is not None:
        yield from _levels(found, places)
    still = sorted(one.name for one in others if _holds(one) and _meets(one, places))
    if _holds(former):
        yield (
            "What it held up is held up by it no more"
            + (f"; {'rule' if len(still) == 1 else 'rules'} {listed(still)} still can." if still
               else ", and by no other rule.")
        )  # fmt: skip


def _levels(found: Sequence[Shift], places: Sequence[Place]) -> Iterator[str]:
    others = [one for one in found if one.is_other_level]
    if not others:
        yield "The levels stay as they are: other rules state them, or what holds without any."
    for level, level_from in dict.fromkeys((one.level, one.level_from) for one in others):
        at = [one.place for one in others if (one.level, one.level_from) == (level, level_from)]
        by = f"rule {level_from}" if level_from else "as no rule says otherwise"
        yield f"The level is then {level}, {by}: {_where(at, places)}."


def _holds(rule: Rule) -> bool:
    return (
        bool(rule.windows or rule.freeze or rule.second_person)
        or rule.cooldown_s is not None
        or rule.most_changes_per_day is not None
    )


def _meets(rule: Rule, places: Iterable[Place]) -> bool:
    return any(rule.concerns(one.resource, one.kind, [one.tier]) for one in places)


def _where(places: Sequence[Place], all_places: Sequence[Place]) -> str:
    """Places by resource and kind, each with its tiers."""
    names = {one.resource for one in all_places}
    tiers: dict[tuple[str, str], list[str]] = {}
    for one in places:
        tiers.setdefault((one.resource, one.kind), []).append(str(one.tier or "none"))
    return clauses(
        f"{kind_words(kind)}, {_tiers(of)}, "
        + (resource or ("every other resource" if len(names) > 1 else "every resource"))
        for (resource, kind), of in tiers.items()
    )


def _tiers(of: Sequence[str]) -> str:
    if len(of) == len(TIERS):
        return "all tiers"
    return f"{'tier' if len(of) == 1 else 'tiers'} {listed(of)}"
