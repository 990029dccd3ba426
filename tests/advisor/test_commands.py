"""The commands say what they did, refuse in one line, and print JSON for programs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, load_command_class

from accounts.models import Organisation, Token
from advisor.decisions import inventory
from advisor.models import AgentKey, IoCount, LimitScope, Policy, Resource, ThresholdMode
from enforcers import ed25519
from enforcers.config import load
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.tc_htb.mechanism import HtbConfig
from enforcers.signature import ServerKey
from tests.advisor.agent_passes import agent_pass
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    return cluster


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def sluice_json(*words: str) -> object:
    return json.loads(sluice(*words, "--json"))


def test_resource_is_added_and_listed() -> None:
    Organisation.objects.create(slug="acme", name="Acme")
    sluice(
        "resource", "add", "nfs-07", "--kind", "datastore", "--at", "h1:sda", "--at", "h2:sdb",
        "--capacity", "2000", "--threshold", "15",
    )  # fmt: skip

    (row,) = sluice_json("resource")

    assert row["name"] == "nfs-07"
    assert (row["capacity"], row["unit"], row["threshold"]) == (2000.0, "iops", 15.0)
    assert row["reached_from"] == "h1:sda, h2:sdb"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["resource", "add", "x", "--kind", "uplink", "--at", "h1"], '"h1" is not HOST:DEVICE'),
        (
            ["allocation", "set", "h1/up0", "w", "--vnic", "p1", "--reservation", "75 parsec"],
            '"75 parsec" is not a rate in bit/s; write it like 94Mbit',
        ),
        (["allocation", "set", "nowhere", "w", "--vnic", "p1"], 'there is no resource "nowhere"'),
        (
            ["allocation", "set", "h1/up0", "w", "--vnic", "p1", "--selector", "10.0.0.7"],
            "'10.0.0.7' is not KIND=VALUE, such as source_address=10.0.0.7",
        ),
        (
            ["allocation", "set", "h1/up0", "w", "--vnic", "p1", "--selector", "mark=7"],
            "the agent of h1 recognises no workload by mark",
        ),
        (
            ["allocation", "set", "h1/up0", "w", "--vnic", "p1", "--tier-controls"],
            "a tier's reservation and limit are in IOPS, and h1/up0 is counted in bits_per_s",
        ),
        (["approve", "99", "--user", "owner"], "there is no recommendation 99"),
        (["rollback", "h1/up0", "--user", "nobody"], 'acme has no member "nobody"'),
        (["rollback", "h1/up0", "--user", "owner"], "there is nothing to roll back"),
        (["status", "--organisation", "nobody"], 'there is no organisation "nobody"'),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    cluster: Cluster, words: list[str], complaint: str
) -> None:
    with pytest.raises(CommandError) as refusal:
        sluice(*words)

    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_allocation_takes_rates_as_people_write_them(cluster: Cluster) -> None:
    sluice(
        "allocation",
        "set",
        "h1/up0",
        "web-2",
        "--vnic",
        "p2",
        "--limit",
        "20Mbit",
        "--tier",
        "low",
    )

    rows = {row["workload"]: row for row in sluice_json("allocation")}

    assert rows["web-2"]["limit"] == 20 * MBIT
    assert rows["web-2"]["tier"] == "low"
    assert rows["web-1"]["reservation"] == 75 * MBIT


@pytest.mark.parametrize(
    ("words", "recognised"),
    [
        ([], "vnic p2"),
        (["--source-address", "10.0.0.7"], "source_address 10.0.0.7"),
        (["--selector", "source_address=10.0.0.0/24"], "source_address 10.0.0.0/24"),
    ],
    ids=["adapter", "source address", "selector"],
)
def test_allocation_says_by_what_it_is_enforced(
    cluster: Cluster, words: list[str], recognised: str
) -> None:
    sluice("allocation", "set", "h1/up0", "web-2", "--vnic", "p2", *words)

    rows = {row["workload"]: row for row in sluice_json("allocation")}

    assert (rows["web-2"]["adapter"], rows["web-2"]["enforced_by"]) == ("p2", recognised)


@pytest.mark.parametrize("number", ["0.001", "0", "-1", "nan", "inf"])
def test_number_that_is_no_budget_of_alarms_is_refused(cluster: Cluster, number: str) -> None:
    reason = rf"^{number} false alarms a week are no budget; state at least 0\.01, or none$"

    with pytest.raises(CommandError, match=reason):
        sluice("resource", "set", "h1/up0", "--alarms-per-week", number)

    found = Resource.objects.get(pk=cluster.uplink.pk)
    assert (found.alarms_per_week, found.shares_alarm_budget) == (1.0, True)


def test_budget_of_alarms_that_is_a_word_is_refused(cluster: Cluster) -> None:
    with pytest.raises(CommandError, match='"some" is neither a number nor none'):
        sluice("resource", "set", "h1/up0", "--alarms-per-week", "some")


def test_budget_of_alarms_is_stated_and_taken_away(cluster: Cluster) -> None:
    found = [
        sluice_json("resource", "set", "h1/up0", *words)[0]["alarms_per_week"]
        for words in (
            ["--alarms-per-week", "0.5"],
            ["--threshold", "0.8"],
            ["--alarms-per-week", "none"],
        )
    ]

    assert found == [0.5, 0.5, None]


def judged_by_baseline(cluster: Cluster, names: list[str]) -> None:
    for name in names:
        inventory.add_resource(
            organisation=cluster.organisation,
            name=name,
            kind="datastore",
            attachments=[("h1", name)],
        )
    Resource.objects.filter(name__in=names).update(threshold_mode=ThresholdMode.BASELINE)


def test_budget_of_all_is_divided_over_baselines_without_one_of_their_own(
    cluster: Cluster,
) -> None:
    judged_by_baseline(cluster, ["a", "b", "c", "d"])
    sluice("resource", "set", "c", "--alarms-per-week", "3")
    sluice("resource", "set", "d", "--alarms-per-week", "none")

    said = sluice("alarm-budget", "2")

    rows = {row["name"]: row for row in sluice_json("resource")}
    assert [(rows[one]["alarms_per_week"], rows[one]["alarms_shared_by"]) for one in "abcd"] == [
        (2.0, 2),
        (2.0, 2),
        (3.0, 1),
        (None, None),
    ]
    # One a week each: ceil(7 / 1) - 1
    assert said.splitlines() == [
        "2 false alarms a week over 2 resources; 6 days of history guarantee each its part",
        "3 a week over 1 resource, each by itself; 1 without a budget",
    ]


def test_small_parts_of_a_budget_of_all_are_said_to_be_no_guarantee(cluster: Cluster) -> None:
    judged_by_baseline(cluster, [f"lun-{number}" for number in range(10)])

    found = sluice_json("alarm-budget", "1")

    # ceil(70 / 1) - 1 of 28 days
    assert (found["days_needed"], found["is_guaranteed"]) == (69, False)
    assert "so it is estimated: no guarantee" in sluice("alarm-budget")


def test_resource_follows_the_budget_of_all_again(cluster: Cluster) -> None:
    judged_by_baseline(cluster, ["a"])
    sluice("resource", "set", "a", "--alarms-per-week", "3")
    sluice("alarm-budget", "2")

    found = sluice_json("resource", "set", "a", "--alarms-per-week", "shared")[0]
    sluice("alarm-budget", "none")

    assert found["alarms_per_week"] == 2.0
    assert sluice("alarm-budget").startswith("1 a week over 1 resource, each by itself")


@pytest.mark.parametrize("number", ["0.001", "nan", "-1"])
def test_number_that_is_no_budget_of_all_is_refused(cluster: Cluster, number: str) -> None:
    with pytest.raises(CommandError, match=f"^{number} false alarms a week are no budget"):
        sluice("alarm-budget", number)


@pytest.mark.parametrize("command", ["resource", "allocation"])
def test_shared_options_stand_behind_a_verb_too(cluster: Cluster, command: str) -> None:
    assert sluice_json(command, "list") == sluice_json(command)


def test_allocation_of_a_tier_says_what_it_counts(cluster: Cluster) -> None:
    said = sluice("allocation", "set", "h1/up0", "web-3", "--vnic", "p3", "--tier", "high")

    # Table 1 of the SIOC study: 2000 shares for the high tier
    assert "2000 shares" in said
    assert "web-1" not in said


# Table 1 of the SIOC study on SSD datastores.
@pytest.mark.parametrize(
    ("words", "reservation", "limit"),
    [
        (["--tier", "high", "--tier-controls"], 100.0, 100_000.0),
        (["--tier", "medium", "--tier-controls"], 50.0, 10_000.0),
        (["--tier", "low", "--tier-controls"], 10.0, 1_000.0),
        (["--tier-controls"], 50.0, 10_000.0),
        (["--tier", "low", "--tier-controls", "--limit", "700"], 10.0, 700.0),
        (["--tier", "high", "--tier-controls", "--reservation", "300"], 300.0, 100_000.0),
        (["--tier", "high"], 0.0, None),
    ],
    ids=["high", "medium", "low", "present tier", "own limit", "own reservation", "not asked for"],
)
def test_tier_gives_reservation_and_limit_where_it_is_asked_to(
    cluster: Cluster, words: list[str], reservation: float, limit: float | None
) -> None:
    add = ["resource", "add", "ds", "--kind", "datastore", "--at", "h1:sdb", "--unit", "iops"]
    sluice(*add, "--capacity", "5000")

    sluice("allocation", "set", "ds", "db", "--cgroup", "/db.slice", *words)

    rows = {row["workload"]: row for row in sluice_json("allocation")}
    assert (rows["db"]["reservation"], rows["db"]["limit"]) == (reservation, limit)


def test_help_is_about_the_product_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load_command_class("advisor", "advise").run_from_argv(["sluice", "advise", "--help"])

    said = capsys.readouterr().out
    assert "--json" in said
    assert "--settings" not in said


def test_approve_then_rollback_by_command(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommendation = propose(cluster)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)

    said = sluice("approve", str(recommendation.pk), "--user", "owner")
    undone = sluice_json("rollback", "h1/up0", "--user", "owner")

    waits = "h1/up0 version 1 is published, not applied: the agent of h1 has not reported yet."
    assert waits in said
    assert "Undo with: sluice rollback h1/up0 --user owner" in said
    assert (undone["resource"], undone["version"]) == ("h1/up0", 2)
    assert Policy.objects.get(version=2).allocations == []


def test_policy_is_told_by_the_last_link_that_holds(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    for reservation in (60 * MBIT, 75 * MBIT):
        advice = propose(cluster, reservation=reservation)
        sluice("approve", str(advice.pk), "--user", "owner")
        end_guards()
    before = sluice_json("policy")
    agent_pass(cluster.enrolment.host, at=NOW)
    after = sluice_json("policy")

    assert [(row["version"], row["state"]) for row in before] == [
        (2, "published"),
        (1, "replaced"),
    ]
    assert before[0]["gap"] == "the agent of h1 has not reported yet"
    assert (after[0]["state"], after[0]["in_force"]) == ("read back", True)
    assert set(after[0]["links"]) == {"approved", "published", "applied", "read back"}


@pytest.mark.parametrize(
    ("option", "default"),
    [("--limit-scope", LimitScope.PER_VDISK), ("--io-count", IoCount.PLAIN)],
)
def test_help_says_what_a_limit_means_without_the_option(
    option: str, default: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        load_command_class("advisor", "allocation").run_from_argv(
            ["sluice", "allocation", "set", "--help"]
        )

    said = " ".join(capsys.readouterr().out.split()).split(f"{option} {{")[-1]
    assert said.split(" --")[0].endswith(f"({default})")


def test_several_organisations_must_be_told_apart(cluster: Cluster) -> None:
    Organisation.objects.create(slug="globex", name="Globex")

    with pytest.raises(CommandError, match="choose one with --organisation: acme, globex"):
        sluice("status")

    assert sluice_json("hosts", "--organisation", "globex") == []


def test_enrolment_is_a_configuration_that_the_agent_accepts(
    cluster: Cluster, tmp_path: Path
) -> None:
    sluice("enroll", "h1", "--out", str(tmp_path), "--poll", "2", "--report", "5")

    config = load(tmp_path / "agent.toml")

    assert (config.host, config.poll_s, config.report_s) == ("h1", 2.0, 5.0)
    assert config.mechanisms["tc_htb"] == HtbConfig(interfaces=frozenset({"up0"}))
    assert Token.objects.valid(config.server.token, now=NOW).host == cluster.enrolment.host
    key = AgentKey.objects.latest("pk")
    assert config.server.document_key == ServerKey(public=bytes.fromhex(key.public_key))
    assert config.server.report_key is not None
    assert ed25519.public_key(config.server.report_key).hex() == key.report_key


def test_enrolment_allows_what_a_mechanism_may_touch(cluster: Cluster, tmp_path: Path) -> None:
    allowed = ("--allow", "cgroup_io.subtrees=/a,/b", "--allow", "cgroup_io.devices=")

    sluice("enroll", "h1", "--out", str(tmp_path), *allowed)

    config = load(tmp_path / "agent.toml")
    assert config.mechanisms["cgroup_io"] == CgroupIoConfig(subtrees=frozenset({"/a", "/b"}))
    with pytest.raises(CommandError, match="'devices=sda' is not MECHANISM"):
        sluice("enroll", "h1", "--out", str(tmp_path), "--allow", "devices=sda")


def test_enrolling_again_makes_the_earlier_token_worthless(
    cluster: Cluster, tmp_path: Path
) -> None:
    sluice("enroll", "h1", "--out", str(tmp_path))

    assert Token.objects.valid(cluster.enrolment.token, now=NOW) is None
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_enrolled_reader_gets_a_token_for_samples_of_its_host_only(
    cluster: Cluster, tmp_path: Path
) -> None:
    sluice("enroll", "h1", "--reader", "--out", str(tmp_path))
    earlier = (tmp_path / "ingest-token").read_text()
    sluice("enroll", "h1", "--reader", "--out", str(tmp_path))

    secret = (tmp_path / "ingest-token").read_text()
    token = Token.objects.valid(secret, now=NOW)
    assert token is not None
    assert (token.scope, token.host and token.host.name) == ("ingest", "h1")
    assert Token.objects.valid(earlier, now=NOW) is None
    reader = load(tmp_path / "agent.toml").reader
    assert reader is not None
    assert (reader.host, reader.token) == ("h1", secret)


def test_agent_is_enrolled_without_reader_unless_it_is_asked_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    sluice("enroll", "h1", "--out", str(tmp_path))

    assert load(tmp_path / "agent.toml").reader is None
    assert not (tmp_path / "ingest-token").exists()


def test_budget_is_left_as_it_was_where_another_option_is_refused(cluster: Cluster) -> None:
    with pytest.raises(CommandError, match="is not a rate"):
        sluice("resource", "set", cluster.uplink.name, "--alarms-per-week", "3", "--capacity=-1")

    cluster.uplink.refresh_from_db()
    assert cluster.uplink.alarms_per_week == 1.0
