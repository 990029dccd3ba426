"""Rules that replace typing: their meaning, their order and their errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.identity.facts import Kind, Place
from ingest.core.identity.grouping import Statement
from ingest.core.identity.rules import (
    FIELDS,
    KEEP_APART,
    KEEP_TOGETHER,
    PlacementRule,
    RuleError,
    decide_tier,
    read_rules,
    rule_line,
)

TIERS = ("high", "medium", "low")


def tier_of(text: str, **fields: str) -> str | None:
    found = decide_tier(read_rules(text, tiers=TIERS), {name: [v] for name, v in fields.items()})
    return found.tier if found else None


@pytest.mark.parametrize(
    ("rule", "tier"),
    [
        ("tier: high where name ~ db-*", "high"),
        ("tier: high where name ~ DB-?rders", "high"),
        ("tier: high where name = db-orders", "high"),
        ("tier: high where name = db-*", None),
        ("tier: high where name != web", "high"),
        ("tier: high where name !~ db-*", None),
        ("tier: high where kind = vm and namespace = shop", None),
        ('tier: high where pool = "gold disks"', "high"),
        ("tier: high where label.app = orders", None),
    ],
)
def test_rule_gives_its_tier_to_what_fits(rule: str, tier: str | None) -> None:
    assert tier_of(rule, name="db-orders", kind="vm", pool="gold disks") == tier


def test_first_rule_that_fits_decides_and_says_which_it_overrules() -> None:
    text = "# ours\ntier: low where name ~ db-test*\ntier: high where name ~ db-*\n"
    rules = read_rules(text, tiers=TIERS)

    found = decide_tier(rules, {"name": ["db-test-1"]})

    assert found is not None
    assert (found.tier, found.reason) == (
        "low",
        "line 2: tier: low where name ~ db-test*; it comes before line 3",
    )


def test_statement_names_two_places() -> None:
    rules = read_rules("same: b:/dev/sdc = a:sdb\napart: a:/mnt/x a:/mnt/y", tiers=TIERS)

    devices = Place("a", Kind.DEVICE, "sdb"), Place("b", Kind.DEVICE, "sdc")
    mounts = Place("a", Kind.MOUNT, "/mnt/x"), Place("a", Kind.MOUNT, "/mnt/y")
    assert rules.statements == (
        Statement(one=devices[0], other=devices[1], same=True),
        Statement(one=mounts[0], other=mounts[1], same=False),
    )


def test_every_wrong_line_is_named() -> None:
    text = "\n".join(
        [
            "tier: gold where name = x",
            "tier: high",
            "tier: high where name > 3",
            "tier: high where size = 3",
            "shares: 100",
            "same: a:sdb",
            "same: a:sdb b:sdb",
            "apart: b:sdb a:sdb",
            "tier: high where name = a b",
            'tier: high where name = "x',
        ]
    )

    with pytest.raises(RuleError) as caught:
        read_rules(text, tiers=TIERS)

    assert caught.value.problems == (
        'line 1: "gold" is no tier; the tiers are high, medium, low',
        "line 2: write a condition: tier: high where name ~ db-*",
        'line 3: ">" is no operator; there are != !~ = ~',
        f'line 4: "size" is no field; there are {", ".join(FIELDS)} and label.NAME',
        'line 5: "shares:" is no rule; write tier:, same:, apart:, keep-together: or keep-apart:',
        "line 6: same: takes two places: same: kvm-01:sdb kvm-02:sdc",
        'line 9: "b" stands where "and" was expected; quote words with spaces',
        "line 10: No closing quotation",
        "a:sdb and b:sdb are stated to be one and not to be",
    )


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_its_lines(text: str) -> None:
    problems: tuple[str, ...] = ("read",)
    try:
        read_rules(text, tiers=TIERS)
    except RuleError as error:
        problems = error.problems

    assert problems


def test_disks_are_kept_together_or_apart() -> None:
    rules = read_rules(
        "keep-together: db-01\nkeep-apart: 'web one' \"web two/scsi0:1\" # both", tiers=TIERS
    )

    assert rules.placement == (
        PlacementRule(together=True, members=("db-01",)),
        PlacementRule(together=False, members=("web one", "web two/scsi0:1")),
    )


def test_rule_of_placement_without_members_is_wrong() -> None:
    with pytest.raises(RuleError, match="keep-apart: takes workloads or disks"):
        read_rules("keep-apart:", tiers=TIERS)


@given(
    st.sampled_from([KEEP_APART, KEEP_TOGETHER]),
    st.lists(
        st.text(min_size=1) | st.sampled_from(["a=b", "it's", "# x", "a\nb", "'\""]), min_size=1
    ),
)
def test_written_rule_is_read_as_it_was_meant_or_is_not_written(
    word: str, members: list[str]
) -> None:
    line = rule_line(word, members)

    if line:
        (found,) = read_rules(line, tiers=TIERS).placement
        assert found == PlacementRule(
            together=word == KEEP_TOGETHER, members=tuple(dict.fromkeys(members))
        )
    else:
        # Only what has both quotes, or what ends a line, has no form.
        assert any(
            ('"' in name and "'" in name) or len(f"{name}.".splitlines()) > 1 or "\\" in name
            for name in members
        )
