"""What a change of one rule of the ladder does: levels after it, and where it lets Sluice act."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from advisor.core.ladder.rule import LadderRule, Level
from advisor.core.ladder.verdict import Affected, Change, stated_level
from advisor.core.resource import Tier

TIERS: tuple[Tier | None, ...] = (*Tier, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where rules hold: a resource, empty for those that no rule names, a kind and a tier."""

    resource: str
    kind: str
    tier: Tier | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The level of a place after a change, the rule it is from, and what the change does to it.

    `lets_act`: Sluice approves there what it did not before.
    """

    place: Place
    level: Level
    level_from: str
    is_other_level: bool
    lets_act: bool
    acts_no_more: bool


def shifts(
    before: Sequence[LadderRule], after: Sequence[LadderRule], *, kind: str
) -> tuple[Shift, ...]:
    """What becomes of every place that a changed rule concerns.

    `kind` is the one that Sluice acts on. A change of workloads of several tiers is held by what
    holds for each, so single tiers tell all.
    """
    old = [one for one in before if one not in after]
    new = [one for one in after if one not in before]
    return tuple(
        _shift(place, before, after, acted_on=kind)
        for place in _places([*before, *after], kind)
        if any(_concerns(one, place) for one in [*old, *new])
    )


def _places(rules: Sequence[LadderRule], kind: str) -> Iterator[Place]:
    resources = sorted({"", *(one.resource for one in rules)}, key=lambda name: (not name, name))
    kinds = sorted({kind, *(one.kind for one in rules if one.kind)})
    for resource in resources:
        for one in kinds:
            for tier in TIERS:
                yield Place(resource=resource, kind=one, tier=tier)


def _concerns(rule: LadderRule, place: Place) -> bool:
    return rule.concerns(place.resource, place.kind, [place.tier])


def _shift(
    place: Place, before: Sequence[LadderRule], after: Sequence[LadderRule], *, acted_on: str
) -> Shift:
    was, now = _rules_at(place, before), _rules_at(place, after)
    level, level_from = _level(place, now)
    acted = place.kind == acted_on and _acts(place, was)
    acts = place.kind == acted_on and _acts(place, now)
    return Shift(
        place=place,
        level=level,
        level_from=level_from,
        is_other_level=level is not _level(place, was)[0],
        lets_act=acts and (not acted or any(not _is_held(one, now) for one in was)),
        acts_no_more=acted and not acts,
    )


def _rules_at(place: Place, rules: Sequence[LadderRule]) -> list[LadderRule]:
    return [one for one in rules if _concerns(one, place)]


def _level(place: Place, rules: Sequence[LadderRule]) -> tuple[Level, str]:
    affected = (Affected(workload="", tier=place.tier),)
    wanted = Change(resource=place.resource, kind=place.kind, affected=affected)
    return stated_level(wanted, rules)


def _acts(place: Place, rules: Sequence[LadderRule]) -> bool:
    is_held_always = any(one.second_person or one.most_changes_per_day == 0 for one in rules)
    return _level(place, rules)[0] is Level.ACT and not is_held_always


def _is_held(rule: LadderRule, rules: Sequence[LadderRule]) -> bool:
    """Whether everything that a rule holds up is held up by the rules, too."""
    return all(
        (
            not rule.windows
            or any((one.windows, one.zone) == (rule.windows, rule.zone) for one in rules),
            rule.freeze is None or any(_freezes(one, rule) for one in rules),
            rule.cooldown_s is None
            or any(rule.cooldown_s <= (one.cooldown_s or 0.0) for one in rules),
            rule.most_changes_per_day is None or any(_caps(one, rule) for one in rules),
        )
    )


def _freezes(one: LadderRule, rule: LadderRule) -> bool:
    if one.freeze is None or rule.freeze is None:
        return False
    return one.freeze.since <= rule.freeze.since and rule.freeze.until <= one.freeze.until


def _caps(one: LadderRule, rule: LadderRule) -> bool:
    if one.most_changes_per_day is None or rule.most_changes_per_day is None:
        return False
    # A cap of a narrower rule counts fewer changes.
    is_as_wide = (
        one.resource in ("", rule.resource)
        and one.kind in ("", rule.kind)
        and one.tier in (None, rule.tier)
    )
    return is_as_wide and one.most_changes_per_day <= rule.most_changes_per_day
