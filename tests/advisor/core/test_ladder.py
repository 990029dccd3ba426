"""The ladder: another rule never lets more happen, and each refusal names its rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.ladder.change_window import opens_at, parse_window
from advisor.core.ladder.rule import Freeze, LadderRule, Level, problems_of_rule
from advisor.core.ladder.verdict import Affected, Change, Past, verdict
from advisor.core.resource import Tier

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)  # A Friday.
HOUR = timedelta(hours=1)
WANTED = Change(
    resource="nfs-07", kind="policy", affected=(Affected(workload="db", tier=Tier.HIGH),)
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
    before = verdict(WANTED, rules=few, past=past, now=NOW)
    after = verdict(WANTED, rules=[*few, more], past=past, now=NOW)

    assert after.level.rank <= before.level.rank
    assert set(before.holds) <= set(after.holds)
    assert set(before.two_people) <= set(after.two_people)
    assert before.may_approve or not after.may_approve


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


@pytest.mark.parametrize(
    "text", ["", "Sat", "Sat 24:00 1h", "Sat 22:00", "Sat 22:00 0h", "Sat 01:00 200h"]
)
def test_text_that_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="window"):
        parse_window(text)


def test_rule_that_states_nothing_is_refused() -> None:
    assert "states nothing" in next(problems_of_rule(LadderRule(name="r", tier=Tier.HIGH)))
