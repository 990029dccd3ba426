"""Reports that are sent regularly, in policy files; their channels are none of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts.actor import Actor
from accounts.errors import NotAllowed
from accounts.models.audit import AuditEntry
from accounts.roles import Role
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.problems import PolicyFileError
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.models import NotificationChannel, ReportSubscription
from tests.advisor.policy_file.site import PRODUCTION, SPARE, exported, ran, refused
from tests.advisor.scenario import NOW, make_cluster

HEAD = "sluice: 1\n"
REPORT = """reports:
- name: mondays
  channel: letters
  every: weekly
  hour: 6
  zone: Europe/Berlin
  team: shop
  tag: label.app=db
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("reports: [{name: r, channel: c}]", '2: "every" is missing'),
        ("reports: [{name: r, every: daily}]", '2: "channel" is missing'),
        ("reports: [{name: r, channel: c, every: hourly}]", "none of daily, weekly, monthly"),
        ("reports: [{name: r, channel: c, every: daily, hour: 24}]", "from 0 to 23"),
        ("reports: [{name: r, channel: c, every: daily, hour: -1}]", "2: hour: "),
        ("reports: [{name: r, channel: c, every: daily, hour: 6.5}]", "2: hour: "),
        ("reports: [{name: r, channel: c, every: daily, zone: Mars}]", "not a time zone"),
        ('reports: [{name: r, channel: c, every: daily, tag: "a\\tb"}]', "can be printed"),
        (f"reports: [{{name: r, channel: c, every: daily, tag: {'t' * 301}}}]", "300"),
        ('reports: [{name: "a\\tb", channel: c, every: daily}]', "letters that can be printed"),
        ("reports: [{name: r, chanel: c, every: daily}]", 'did you mean "channel"'),
        (
            """reports:
- {name: r, channel: c, every: daily}
- {name: r, channel: d, every: daily}""",
            "4: r is on line 3 already",
        ),
    ],
    ids=str,
)
def test_section_that_makes_no_sense_is_refused_with_its_line(text: str, why: str) -> None:
    with pytest.raises(PolicyFileError) as refusal:
        read_policy_file(HEAD + text, file="site.yaml")

    assert why in str(refusal.value)


@pytest.mark.django_db
def test_export_has_the_report_whole_and_is_taken_over_elsewhere(file: Path) -> None:
    text = exported()

    assert text.endswith(REPORT)
    assert "ann@example.org" not in text
    file.write_text(text)
    ran("apply", file, "--organisation", SPARE)
    assert exported(SPARE) == text
    rows = ReportSubscription.objects.all()
    assert {(one.name, one.every, one.hour, one.zone, one.tag) for one in rows} == {
        ("mondays", "weekly", 6, "Europe/Berlin", "label.app=db")
    }
    # Each sends by the channel and of the team of its own server.
    assert len({(one.channel_id, one.team_id) for one in rows}) == 2


@pytest.mark.django_db
def test_plan_says_what_changes_and_apply_changes_it_and_tells_the_audit_chain(
    file: Path,
) -> None:
    before = ReportSubscription.objects.get()
    file.write_text(file.read_text().replace("every: weekly", "every: daily"))

    status, said = ran("plan", file, "--organisation", PRODUCTION)
    ran("apply", file, "--organisation", PRODUCTION)

    assert status == 3
    assert "~ report that is sent mondays\n    every: weekly -> daily" in said
    after = ReportSubscription.objects.get()
    assert (after.pk, after.every) == (before.pk, "daily")
    told = AuditEntry.objects.filter(organisation__slug=PRODUCTION)
    assert told.filter(action="state a subscription of reports").count() == 2
    assert ran("plan", file, "--organisation", PRODUCTION)[0] == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("channel: letters", 'there is no channel "pager"'),
        ("channel: chat", "chat sends no mail, and a report is a letter"),
        ("team: shop", 'the report "mondays" is of the team "pager", which is none'),
    ],
)
def test_report_that_names_what_is_not_there_is_refused_with_its_line(
    file: Path, changed: str, why: str
) -> None:
    text = file.read_text()
    head, report = text[: text.index("reports:")], text[text.index("reports:") :]
    if changed == "channel: chat":
        report = report.replace("channel: letters", changed)
    else:
        report = report.replace(changed, changed.partition(":")[0] + ": pager")
    file.write_text(head + report)
    line = head.count("\n") + 2

    told = refused("plan", file, "--organisation", PRODUCTION)

    assert told.startswith(f"{file}:{line}: ")
    assert why in told


@pytest.mark.django_db
def test_team_of_a_report_that_stays_is_not_removed(file: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.yaml"
    part.write_text(f"{HEAD}notifications: []\nladder: []\npools: []\nteams: []\n")

    told = refused("plan", part, "--organisation", PRODUCTION)

    assert 'is of the team "shop", which is none any more; it would go with it' in told


@pytest.mark.django_db
def test_report_that_the_section_leaves_out_is_removed_and_its_channel_stays(
    file: Path, tmp_path: Path
) -> None:
    part = tmp_path / "part.yaml"
    part.write_text(f"{HEAD}reports: []\n")

    options = ("--allow-removals", "--yes", "--organisation", PRODUCTION)
    assert "0 made, 0 changed, 1 removed" in ran("apply", part, *options)[1]

    assert not ReportSubscription.objects.exists()
    assert NotificationChannel.objects.filter(name="letters").count() == 2
    assert AuditEntry.objects.filter(action="remove a subscription of reports").exists()


@pytest.mark.django_db
def test_file_without_the_section_leaves_a_report_and_whether_it_is_stopped(file: Path) -> None:
    ReportSubscription.objects.update(stopped_at=NOW, stopped_because="somebody stopped it")
    text = file.read_text()
    file.write_text(text[: text.index("reports:")])

    assert ran("plan", file, "--organisation", PRODUCTION)[0] == 0
    file.write_text(text)
    assert ran("apply", file, "--organisation", PRODUCTION)[0] == 0
    assert ReportSubscription.objects.get().stopped_at == NOW


@pytest.mark.django_db
def test_reports_take_an_admin_within_a_file_too() -> None:
    organisation = make_cluster().organisation
    NotificationChannel.objects.create(
        organisation=organisation, name="c", kind="mail", address="a@example.org"
    )
    read = read_policy_file(
        f"{HEAD}reports: [{{name: r, channel: c, every: daily}}]", file="site.yaml"
    )
    changes = plan_policy_file(organisation, read, now=NOW)
    operator = Actor(name="operator", role=Role.OPERATOR)

    with pytest.raises(NotAllowed, match="notifications"):
        apply_policy_file(organisation, read, expected=changes, actor=operator, now=NOW)

    assert not ReportSubscription.objects.exists()
