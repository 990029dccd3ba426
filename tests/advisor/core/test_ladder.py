"""The ladder: another rule never lets more happen, and each refusal names its rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.forecast.calibration import Coverage
from advisor.core.ladder.acting import Grounds, why_not_act
from advisor.core.ladder.rule import Freeze, LadderRule, Level, problems_of_rule
from advisor.core.ladder.verdict import Affected, Change, Past, verdict
from advisor.core.resource import Tier
from advisor.core.weekly_window import closes_at, opens_at, parse_window

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)  # A Friday.
HOUR = timedelta(hours=1)
WANTED = Change(
    resource="nfs-07", kind="policy", affected=(Affected(workload="db", tier=Tier.HIGH),)
)
PROVEN = Grounds(
    in_hand="",
    coverage=Coverage(count=100, inside_count=76, level=0.8),
    suspected=(),
    without_agent=(),
    comes_in_stages=True,
    is_stopped=False,
    is_under_way=False,
    taken_back="",
)

rules = st.builds(
    LadderRule,
    name=st.sampled_from("abcd"),
    resource=st.sampled_from(["", "nfs-07", "nfs-08"]),
    tier=st.none() | st.sampled_from(Tier),
    kind=st.sampled_from(["", "policy", "threshold"]),
    level=st.none() | st.sampled_from(Level),
    windows=st.sampled_from([(), ("Fri 11:00 2h",), ("Sat 22:00 6h", "Mon-Fri 03:00 1h")]),
    freeze=st.none()
    | st.just(Freeze(since=NOW - HOUR, until=NOW + HOUR, reason="end of the year")),
    cooldown_s=st.none() | st.sampled_from([600.0, 86_400.0]),
    most_changes_per_day=st.none() | st.integers(0, 3),
    second_person=st.booleans(),
)
pasts = st.lists(
    st.builds(
        Past, change=st.just(WANTED), at=st.timedeltas(-2 * HOUR * 24, HOUR).map(NOW.__add__)
    ),
    max_size=4,
)


@given(st.lists(rules, max_size=4), rules, pasts)
def test_another_rule_is_never_less_conservative(
    few: list[LadderRule], more: LadderRule, past: list[Past]
) -> None:
    # Only where no rule stated a level, one may raise it.
    few = [*few, LadderRule(name="stated", level=Level.ACT)]
    before = verdict(WANTED, rules=few, past=past, now=NOW)
    after = verdict(WANTED, rules=[*few, more], past=past, now=NOW)

    assert after.level.rank <= before.level.rank
    assert set(before.holds) <= set(after.holds)
    assert set(before.two_people) <= set(after.two_people)
    assert before.may_approve or not after.may_approve


@given(st.lists(rules, max_size=4), rules, pasts)
def test_another_rule_that_states_no_level_lets_nothing_happen(
    few: list[LadderRule], more: LadderRule, past: list[Past]
) -> None:
    before = verdict(WANTED, rules=few, past=past, now=NOW)
    after = verdict(WANTED, rules=[*few, replace(more, level=None)], past=past, now=NOW)

    assert after.level is before.level
    assert set(why_not_act(before, PROVEN)) <= set(why_not_act(after, PROVEN))


@given(st.lists(rules, max_size=4), pasts)
def test_sluice_acts_on_nothing_that_a_person_may_not_approve(
    some: list[LadderRule], past: list[Past]
) -> None:
    found = verdict(WANTED, rules=some, past=past, now=NOW)

    acts = not why_not_act(found, PROVEN)
    free = found.may_approve and not found.two_people
    assert acts == (free and found.level is Level.ACT)


@pytest.mark.parametrize(
    "known",
    [
        {"in_hand": "a person looks after it"},
        {"coverage": None},
        {"coverage": Coverage(count=19, inside_count=19, level=0.8)},
        # 74 % of them, where 80 % are meant and 75 % are enough.
        {"coverage": Coverage(count=100, inside_count=74, level=0.8)},
        {"suspected": ("db",)},
        {"without_agent": ("h3",)},
        {"comes_in_stages": False},
        {"is_stopped": True},
        {"is_under_way": True},
        {"taken_back": "version 3 was rolled back"},
    ],
    ids=str,
)
def test_each_ground_alone_keeps_sluice_from_acting(known: dict[str, Any]) -> None:
    lets = LadderRule(name="free", level=Level.ACT, cooldown_s=60.0, most_changes_per_day=9)
    found = verdict(WANTED, rules=[lets], past=(), now=NOW)

    assert why_not_act(found, PROVEN) == ()
    assert len(why_not_act(found, replace(PROVEN, **known))) == 1


def test_one_tier_without_a_level_keeps_sluice_from_acting() -> None:
    lets = LadderRule(name="low", tier=Tier.LOW, level=Level.ACT)
    both = replace(WANTED, affected=(*WANTED.affected, Affected(workload="etl", tier=Tier.LOW)))

    found = verdict(both, rules=[lets], past=(), now=NOW)

    assert (found.level, found.level_from) == (Level.RECOMMEND, "")


@pytest.mark.parametrize("missing", ["cooldown_s", "most_changes_per_day"])
def test_rule_that_lets_sluice_act_states_its_bounds(missing: str) -> None:
    rule = LadderRule(name="free", level=Level.ACT, cooldown_s=60.0, most_changes_per_day=9)

    assert not list(problems_of_rule(rule))
    assert "a cool-down and a cap" in next(problems_of_rule(replace(rule, **{missing: None})))


@given(st.lists(rules, max_size=4), pasts)
def test_order_of_rules_does_not_matter(some: list[LadderRule], past: list[Past]) -> None:
    named = list({rule.name: rule for rule in some}.values())

    one = verdict(WANTED, rules=named, past=past, now=NOW)
    other = verdict(WANTED, rules=named[::-1], past=past, now=NOW)

    assert one == other


def test_without_rules_people_approve() -> None:
    found = verdict(WANTED, rules=(), past=(), now=NOW)

    assert (found.level, found.level_from, found.may_approve) == (Level.RECOMMEND, "", True)


@pytest.mark.parametrize(
    ("rule", "until"),
    [
        (LadderRule(name="r", windows=("Sat 22:00 6h",), zone="Europe/Berlin"),
         datetime(2026, 11, 21, 21, 0, tzinfo=UTC)),
        (LadderRule(name="r", freeze=Freeze(since=NOW, until=NOW + HOUR, reason="x")), NOW + HOUR),
        # Changed an hour ago, to rest for six.
        (LadderRule(name="r", cooldown_s=6 * 3600.0), NOW + 5 * HOUR),
        # The one change of the last 24 h leaves them in 23 h.
        (LadderRule(name="r", most_changes_per_day=1), NOW + 23 * HOUR),
    ],
    ids=["window", "freeze", "cool-down", "cap"],
)  # fmt: skip
def test_hold_names_its_rule_and_when_it_ends(rule: LadderRule, until: datetime) -> None:
    past = [Past(change=WANTED, at=NOW - HOUR)]

    found = verdict(WANTED, rules=[rule], past=past, now=NOW)

    assert [(one.rule, one.until) for one in found.holds] == [("r", until)]
    assert not found.may_approve
    later = verdict(WANTED, rules=[rule], past=past, now=until)
    assert later.may_approve


def test_rule_of_another_scope_says_nothing() -> None:
    tell = [
        LadderRule(name="a", resource="nfs-08", level=Level.TELL),
        LadderRule(name="b", tier=Tier.LOW, level=Level.TELL),
        LadderRule(name="c", kind="threshold", level=Level.TELL),
    ]

    assert verdict(WANTED, rules=tell, past=(), now=NOW).may_approve


def test_window_keeps_its_wall_clock_time_over_summer_time() -> None:
    # Berlin's clock goes forward on 2026-03-29: 22:00 is 21:00 UTC before, and 20:00 UTC after.
    before = datetime(2026, 3, 28, 12, tzinfo=UTC)

    assert opens_at(["Sat 22:00 1h"], "Europe/Berlin", now=before) == before.replace(hour=21)
    after = before + timedelta(days=7)
    assert opens_at(["Sat 22:00 1h"], "Europe/Berlin", now=after) == after.replace(hour=20)


def test_windows_close_when_the_last_of_those_that_are_open_does() -> None:
    # Past midnight, in the night in which Berlin's clock goes forward: nine hours by the clock
    # on the wall would be eight.
    texts = ["Sat 22:00 9h", "Sat 20:00 3h"]
    saturday = datetime(2026, 3, 28, tzinfo=UTC)

    closes = [
        closes_at(texts, "Europe/Berlin", now=saturday + timedelta(hours=hours))
        for hours in (18, 19, 21, 29, 30)
    ]

    last = saturday + timedelta(hours=30)
    assert closes == [None, saturday + timedelta(hours=22), last, last, None]


@given(
    text=st.sampled_from(["Sat 22:00 6h", "Mon-Fri 01:00 90min", "Sun 00:00 168h"]),
    minutes=st.integers(0, 10_080),
)
def test_a_window_is_open_or_opens(text: str, minutes: int) -> None:
    now = NOW + timedelta(minutes=minutes)
    opens, closes = (each([text], "Europe/Berlin", now=now) for each in (opens_at, closes_at))

    assert (opens is None) is (closes is not None)
    assert (opens or closes) > now


@pytest.mark.parametrize(
    "text", ["", "Sat", "Sat 24:00 1h", "Sat 22:00", "Sat 22:00 0h", "Sat 01:00 200h"]
)
def test_text_that_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="window"):
        parse_window(text)


def test_rule_that_states_nothing_is_refused() -> None:
    assert "states nothing" in next(problems_of_rule(LadderRule(name="r", tier=Tier.HIGH)))
