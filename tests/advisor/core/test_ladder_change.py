"""What a change of a rule does: where Sluice acts after it and did not before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.ladder.change import shifts
from advisor.core.ladder.rule import Freeze, LadderRule, Level
from advisor.core.ladder.verdict import Affected, Change, verdict
from advisor.core.resource import Tier
from tests.advisor.core.test_ladder import NOW, rules

FREE = LadderRule(name="free", level=Level.ACT, cooldown_s=600.0, most_changes_per_day=5)
FROZEN = Freeze(since=datetime(2026, 12, 20, tzinfo=UTC), until=NOW + timedelta(60), reason="year")


def lets_act(before: list[LadderRule], after: list[LadderRule]) -> bool:
    return any(one.lets_act for one in shifts(before, after, kind="policy"))


@given(st.lists(rules, max_size=4, unique_by=lambda one: one.name), st.integers(0, 3))
def test_change_that_tells_of_no_acting_lets_nothing_act(few: list[LadderRule], cut: int) -> None:
    after = [one for number, one in enumerate(few) if number != cut]
    told = {one.place for one in shifts(few, after, kind="policy") if one.lets_act}
    named = {place.resource for place in told}

    for resource in ("nfs-07", "nfs-08"):
        for tier in (*Tier, None):
            affected = (Affected(workload="db", tier=tier),)
            change = Change(resource=resource, kind="policy", affected=affected)
            was, now = (verdict(change, rules=of, past=[], now=NOW) for of in (few, after))
            acts = [
                one.level is Level.ACT and not one.two_people and not one.holds
                for one in (was, now)
            ]
            if acts == [False, True]:
                assert {resource, ""} & named
                assert tier in {place.tier for place in told}


@pytest.mark.parametrize(
    "held",
    [
        LadderRule(name="rule", level=Level.TELL),
        LadderRule(name="rule", second_person=True, tier=Tier.LOW),
        LadderRule(name="rule", windows=("Sat 22:00 6h",)),
        LadderRule(name="rule", freeze=FROZEN),
        LadderRule(name="rule", cooldown_s=3600.0),
        LadderRule(name="rule", most_changes_per_day=0),
        LadderRule(name="rule", most_changes_per_day=3),
    ],
)
def test_what_a_rule_keeps_sluice_from_is_let_without_it(held: LadderRule) -> None:
    assert lets_act([FREE, held], [FREE])
    assert not lets_act([held], [])
    assert not lets_act([FREE], [FREE, held])
    # Another rule that says the same keeps it from that, too.
    assert not lets_act([FREE, held, replace(held, name="twin")], [FREE, held])


def test_looser_rule_lets_act_and_a_stricter_one_does_not() -> None:
    held = LadderRule(name="rule", most_changes_per_day=3, freeze=FROZEN)
    longer = replace(FROZEN, until=FROZEN.until + timedelta(1))

    assert lets_act([FREE, held], [FREE, replace(held, most_changes_per_day=4)])
    assert not lets_act([FREE, held], [FREE, replace(held, most_changes_per_day=2, freeze=longer)])
    assert lets_act([FREE, replace(held, freeze=longer)], [FREE, held])


def test_cap_of_a_narrower_rule_does_not_stand_in() -> None:
    held = LadderRule(name="rule", most_changes_per_day=3)
    narrower = replace(held, name="narrower", tier=Tier.LOW)

    assert lets_act([FREE, held, narrower], [FREE, narrower])


def test_other_advice_than_policies_is_never_acted_on() -> None:
    free = replace(FREE, kind="threshold")

    assert not lets_act([free, LadderRule(name="rule", level=Level.TELL)], [free])
