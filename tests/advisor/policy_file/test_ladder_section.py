"""The ladder and the terms of rollouts in policy files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from accounts.actor import Actor
from accounts.errors import NotAllowed
from accounts.models import Organisation
from accounts.models.audit import AuditEntry
from accounts.roles import Role
from advisor.advice.registry import KINDS
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.document import AdviceKind, RolloutEntry
from advisor.decisions.policy_file.decide.problems import PolicyFileError
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.models import LadderRule, RolloutTerms
from tests.advisor.policy_file.site import PRODUCTION, ran, refused
from tests.advisor.scenario import NOW, make_cluster

HEAD = "sluice: 1\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ladder: [{name: r}]", "2: it states nothing"),
        ("ladder: [{name: r, level: act}]", "2: where Sluice acts, the rule states a cool-down"),
        ("ladder: [{name: r, windows: [Sat]}]", "no window of the week"),
        ("ladder: [{name: r, level: tell, zone: Mars}]", "not a time zone"),
        ("ladder: [{name: r, frozen_from: soon}]", "are times like"),
        ("ladder: [{name: r, frozen_from: 2026-01-01T00:00}]", "frozen_from and frozen_until"),
        ("ladder: [{name: r, cool_down: 999d}]", "no longer than 366 days"),
        (
            "ladder:\n- {name: r, level: tell}\n- {name: r, level: ask}",
            "4: r is on line 3 already",
        ),
        ("ladder: [{name: r, levl: tell}]", 'there is no key "levl"; did you mean "level"'),
        ("rollouts: {stage: 2h, longest: 1h}", "2: longest is no shorter than stage"),
        ("rollouts: {stages: 5}", 'no key "stages"; did you mean "stage"'),
        ("rollouts: [5]", "needs keys with values"),
    ],
    ids=str,
)
def test_section_that_makes_no_sense_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(PolicyFileError) as refusal:
        read_policy_file(HEAD + text, file="site.yaml")

    assert why in str(refusal.value)


def test_kinds_of_advice_are_those_of_the_registry() -> None:
    assert set(get_args(AdviceKind)) == {one.name for one in KINDS}


@pytest.mark.django_db
def test_terms_that_are_not_stated_are_those_that_hold_by_default() -> None:
    row, entry = RolloutTerms(), RolloutEntry()

    assert (entry.staged, entry.stage_s, entry.longest_s, entry.unsure == "goes-on") == (
        row.staged, row.stage_s, row.longest_s, row.goes_on_unsure,
    )  # fmt: skip


@pytest.mark.django_db
def test_plan_says_which_terms_change_and_apply_changes_them(file: Path) -> None:
    text = file.read_text()
    changed = text.replace("stage: 5min", "stage: 6min").replace("level: act", "level: ask")
    file.write_text(changed)

    status, said = ran("plan", file, "--organisation", PRODUCTION)

    assert status == 3
    assert "~ terms of rollouts\n    stage: 5min -> 6min" in said
    assert "~ rule of the ladder nights\n    level: act -> ask" in said
    ran("apply", file, "--organisation", PRODUCTION)
    assert ran("plan", file, "--organisation", PRODUCTION)[0] == 0
    assert LadderRule.objects.get().level == "ask"
    assert RolloutTerms.objects.get(organisation__slug=PRODUCTION).stage_s == 360.0
    told = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"set a rule of the ladder", "set rollout terms"} <= told


@pytest.mark.django_db
def test_removing_a_rule_asks_first(file: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text(f"{HEAD}ladder: []\nrollouts: {{}}\n")

    removes = refused("apply", empty, "--organisation", PRODUCTION)
    assert "removes 2 of 2 things" in removes
    assert LadderRule.objects.exists()

    options = ("--allow-removals", "--yes", "--organisation", PRODUCTION)
    assert "0 made, 0 changed, 2 removed" in ran("apply", empty, *options)[1]
    assert not LadderRule.objects.exists()
    terms = RolloutTerms.objects.get(organisation__slug=PRODUCTION)
    assert (terms.stage_s, terms.goes_on_unsure) == (600.0, False)


@pytest.mark.django_db
def test_plan_as_json_has_entries_as_they_are_written(file: Path) -> None:
    file.write_text(file.read_text().replace("stage: 5min", "stage: 6min"))

    (change,) = json.loads(ran("plan", file, "--json", "--organisation", PRODUCTION)[1])["changes"]

    assert (change["section"], change["before"]["stage"], change["after"]["stage"]) == (
        "rollouts", "5min", "6min",
    )  # fmt: skip


@pytest.mark.django_db
def test_rules_take_an_admin_within_a_file_too() -> None:
    organisation: Organisation = make_cluster().organisation
    read = read_policy_file(f"{HEAD}ladder: [{{name: r, level: tell}}]", file="site.yaml")
    changes = plan_policy_file(organisation, read, now=NOW)
    operator = Actor(name="operator", role=Role.OPERATOR)

    with pytest.raises(NotAllowed, match="set the rules of the ladder"):
        apply_policy_file(organisation, read, expected=changes, actor=operator, now=NOW)

    assert not LadderRule.objects.exists()
