"""Rules of notifications in policy files; their channels are none of a file."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from accounts.actor import Actor
from accounts.errors import NotAllowed
from accounts.models import Organisation
from accounts.models.audit import AuditEntry
from accounts.roles import Role
from advisor.core.notifying import SEVERITIES
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.document import SeverityWord
from advisor.decisions.policy_file.decide.problems import PolicyFileError
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.models import NotificationChannel, NotificationRule, Team
from tests.advisor.policy_file.site import PRODUCTION, SPARE, exported, ran, refused
from tests.advisor.scenario import NOW, make_cluster

HEAD = "sluice: 1\n"
RULE = """notifications:
- name: nights
  channel: chat
  least: promise_missed
  resources:
  - nfs-07
  teams:
  - shop
  tags:
  - label.app=db
  - tag=no
  quiet:
  - Mon-Sun 22:00 9h
  - Sat 09:00 2h
  zone: Europe/Berlin
  grave_anyway: false
  tells_end: false
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("notifications: [{name: r}]", '2: "channel" is missing'),
        ("notifications: [{name: r, channel: c, least: dire}]", "it may be congested or"),
        ("notifications: [{name: r, channel: c, quiet: [nights]}]", "no window of the week"),
        ("notifications: [{name: r, channel: c, zone: Mars}]", "not a time zone"),
        ("notifications: [{name: r, channel: c, tags: [shop]}]", "is no tag"),
        (f"notifications: [{{name: r, channel: c, teams: {['t'] * 51}}}]", "51 teams"),
        (f"notifications: [{{name: r, channel: c, resources: {['t'] * 201}}}]", "201 resources"),
        ('notifications: [{name: "a\\tb", channel: c}]', "letters that can be printed"),
        ("notifications: [{name: r, chanel: c}]", 'did you mean "channel"'),
        (
            "notifications:\n- {name: r, channel: c}\n- {name: r, channel: d}",
            "4: r is on line 3 already",
        ),
    ],
    ids=str,
)
def test_section_that_makes_no_sense_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(PolicyFileError) as refusal:
        read_policy_file(HEAD + text, file="site.yaml")

    assert why in str(refusal.value)


def test_severities_are_those_that_incidents_have() -> None:
    assert get_args(SeverityWord) == tuple(SEVERITIES)


@pytest.mark.django_db
def test_export_has_the_rule_whole_and_nothing_of_the_channel(file: Path) -> None:
    text = file.read_text()

    assert RULE in text
    assert "very/secret" not in text
    ran("apply", file, "--organisation", SPARE)
    assert exported(SPARE) == text
    rows = NotificationRule.objects.order_by("organisation__slug")
    assert len({(one.least, str(one.quiet), str(one.tags), one.zone) for one in rows}) == 1
    # Each tells by the channel of its own server.
    assert len({one.channel_id for one in rows}) == 2


@pytest.mark.django_db
def test_plan_says_what_changes_and_apply_changes_it_and_tells_the_audit_chain(
    file: Path,
) -> None:
    file.write_text(file.read_text().replace("least: promise_missed", "least: stalled"))

    status, said = ran("plan", file, "--organisation", PRODUCTION)
    ran("apply", file, "--organisation", PRODUCTION)

    assert status == 3
    assert "~ rule of notifications nights\n    least: promise_missed -> stalled" in said
    assert NotificationRule.objects.get(organisation__slug=PRODUCTION).least == 3
    told = AuditEntry.objects.filter(organisation__slug=PRODUCTION)
    assert told.filter(action="state a rule of notifications").count() == 2
    assert ran("plan", file, "--organisation", PRODUCTION)[0] == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("channel: chat", 'there is no channel "pager"'),
        ("  - shop\n  tags", 'the rule "nights" of notifications names the team "pager"'),
        ("resources:\n  - nfs-07\n  teams", 'the rule "nights" of notifications names "pager"'),
    ],
)
def test_rule_that_names_what_is_not_there_is_refused_with_its_line(
    file: Path, changed: str, why: str
) -> None:
    text = file.read_text()
    head, rule = text[: text.index("notifications:")], text[text.index("notifications:") :]
    wrong = changed.replace("chat", "pager").replace("shop", "pager").replace("nfs-07", "pager")
    file.write_text(head + rule.replace(changed, wrong))
    line = head.count("\n") + 2

    told = refused("plan", file, "--organisation", PRODUCTION)

    assert told.startswith(f"{file}:{line}: ")
    assert why in told


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("section", "why"),
    [
        ("resources: []", 'names "nfs-07", which is no resource any more; it would tell of all'),
        ("teams: []\nreports: []", 'names the team "shop", which is none'),
    ],
)
def test_what_a_rule_that_stays_names_is_not_removed(
    file: Path, tmp_path: Path, section: str, why: str
) -> None:
    part = tmp_path / "part.yaml"
    part.write_text(f"{HEAD}maintenance: []\nladder: []\npools: []\n{section}\n")

    assert why in refused("plan", part, "--organisation", PRODUCTION)


@pytest.mark.django_db
def test_team_that_was_gone_before_is_no_reason_to_refuse_the_same_file(file: Path) -> None:
    Team.objects.filter(organisation__slug=PRODUCTION).delete()
    file.write_text(exported())

    assert ran("plan", file, "--organisation", PRODUCTION)[0] == 0


@pytest.mark.django_db
def test_rule_that_the_section_leaves_out_is_removed_and_its_channel_stays(
    file: Path, tmp_path: Path
) -> None:
    part = tmp_path / "part.yaml"
    part.write_text(f"{HEAD}notifications: []\n")

    options = ("--allow-removals", "--yes", "--organisation", PRODUCTION)
    assert "0 made, 0 changed, 1 removed" in ran("apply", part, *options)[1]

    assert not NotificationRule.objects.exists()
    assert NotificationChannel.objects.filter(organisation__slug=PRODUCTION).exists()
    assert AuditEntry.objects.filter(action="remove a rule of notifications").exists()


@pytest.mark.django_db
def test_rules_take_an_admin_within_a_file_too() -> None:
    organisation: Organisation = make_cluster().organisation
    NotificationChannel.objects.create(
        organisation=organisation, name="c", kind="webhook", address="https://c.example.org/"
    )
    text = f"{HEAD}notifications: [{{name: r, channel: c}}]"
    read = read_policy_file(text, file="site.yaml")
    changes = plan_policy_file(organisation, read, now=NOW)
    operator = Actor(name="operator", role=Role.OPERATOR)

    with pytest.raises(NotAllowed, match="notifications"):
        apply_policy_file(organisation, read, expected=changes, actor=operator, now=NOW)

    assert not NotificationRule.objects.exists()
