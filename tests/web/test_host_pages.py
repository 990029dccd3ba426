"""Hosts say whether their agent is healthy, what it can hold, and what it wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.decisions.enrolment import enroll
from advisor.models import ComplianceRecord, Enforcer, PublishedDocument
from enforcers.canonical_json import to_plain
from enforcers.contract import CorrectedModel, EnforcementState, Unit
from ingest.models import Series
from ingest.unknown_measurements import count_unknown
from tests.advisor.agent_support import SUPPORT
from tests.web import agents
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of
from tests.web.scenario import GBIT

RATES = {"web-shop": 3.6 * GBIT, "mail-1": 1.1 * GBIT, "backup-7": 3.2 * GBIT}


def host_page(client: Client, fleet: Fleet, name: str) -> Page:
    return page_of(client.get(f"/hosts/{fleet.hosts[name].pk}/"))


def test_hosts_are_counted_by_state_of_their_agent(viewer: Client) -> None:
    page = page_of(viewer.get("/hosts/"))

    assert page.text("h1") == "5 hosts: 1 silent, 1 enforcing, 1 idle, 2 without agent"


def test_list_shows_reports_revisions_and_drift(viewer: Client) -> None:
    page = page_of(viewer.get("/hosts/"))

    agent, report, sample, held, published, drift, *load = page.row("table", "kvm-02")
    assert (agent, report, sample) == ("enforcing", "8 s ago", "6 s ago")
    assert (held, published, drift) == ("1", "1", "0 of 3")
    assert [value.split()[-1] for value in load[:2]] == ["IOPS", "Gbit/s"]
    assert page.row("table", "kvm-04")[1].startswith("–no value: no agent has reported")


def test_columns_of_mechanisms_say_what_each_host_supports(viewer: Client) -> None:
    mechanisms = [f"can-{name}" for name in ("tc_htb", "cgroup_io", "qemu_throttle")]

    page = page_of(viewer.get("/hosts/", {"columns": ["name", *mechanisms]}))

    assert page.row("table", "kvm-02") == ["yes", "yes", "yes"]
    assert page.row("table", "kvm-03")[1].startswith("no: cgroup v1 is mounted")


def test_mechanisms_say_which_control_they_hold_and_by_what(viewer: Client) -> None:
    page = page_of(viewer.get("/hosts/"))

    everywhere = "kvm-01, kvm-02 and kvm-03"
    needs = (
        "io.weight needs iocost, and a device of cgroup_io.capacity_is_measured or "
        "cgroup_io.models to switch it on for"
    )
    assert page.row("table", "cgroup_io") == [
        f"no {needs}",
        "yes io.max, divided among reads and writes by their mix each half second",
        f"no {needs}",
        everywhere,
    ]
    assert page.row("table", "tc_htb") == [
        "yes HTB rate, beside the host's own part of the uplink",
        "yes HTB ceil",
        "yes HTB quantum: what the rates leave, divided by shares",
        everywhere,
    ]


def test_host_says_by_what_its_mechanisms_recognise_workloads(
    viewer: Client, fleet: Fleet
) -> None:
    page = host_page(viewer, fleet, "kvm-02")

    assert page.row("table", "tc_htb")[-1] == "vnic, source_address, host_traffic +1 more"
    assert page.row("table", "cgroup_io")[-1] == "cgroup, systemd_unit, libvirt_domain +4 more"
    assert page.row("table", "qemu_throttle")[-1] == "vdisk"


def test_host_tells_of_a_device_that_does_less_than_is_stated(
    viewer: Client, fleet: Fleet
) -> None:
    found = CorrectedModel(
        device="sda", unit=Unit.IOPS, stated=2600.0, real=1687.0, model=1552.0, after_s=8.0
    )
    cgroup_io = next(one for one in SUPPORT if one.mechanism == "cgroup_io")
    told = replace(cgroup_io, corrected=(found,))
    Enforcer.objects.filter(host__name="kvm-02").update(support=[to_plain(told)])

    page = host_page(viewer, fleet, "kvm-02")

    shown = page.all_text()
    assert "sda: stated capacity 2600 IOPS, measured 1687 IOPS under full load." in shown
    assert "The agent corrected its model after 8 s and uses 1552 IOPS" in shown


def test_agent_of_the_first_version_says_nothing_of_what_it_holds(
    viewer: Client, fleet: Fleet
) -> None:
    Enforcer.objects.update(
        support=[{"mechanism": "tc_htb", "supported": True, "reason": "HTB works"}]
    )

    page = host_page(viewer, fleet, "kvm-02")

    supported, *held, recognised = page.row("table", "tc_htb")
    assert (supported, recognised) == ("yes", "vnic and source_address")
    assert all("the agent is too old to say" in cell for cell in held)


def test_allocation_that_is_not_sent_is_named_with_its_reason(
    viewer: Client, fleet: Fleet
) -> None:
    content = {
        "resources": [],
        "allocations": [],
        "left_out": [{"what": "nfs-07", "reason": "no mechanism of its agent enforces iops"}],
    }
    PublishedDocument.objects.filter(host__name="kvm-02").update(content=content)

    page = host_page(viewer, fleet, "kvm-02")

    reason = "nfs-07 is not enforced: no mechanism of its agent enforces iops."
    assert page.text("h1") == "kvm-02: the agent is failing"
    assert reason in page.text(".lead")


@pytest.mark.parametrize(
    ("change", "state", "reason"),
    [
        ({}, "enforcing", "Everything is as the policy says."),
        ({"dry_run": True}, "dry run", "plans and reports, and changes nothing"),
        ({"refusal": "the signature does not match"}, "failing", "the signature does not match"),
        ({"applied_revision": None}, "behind", "holds no revision; revision 1 is published"),
        ({"last_report_at": None}, "waiting", "has not reported yet"),
        ({"last_report_at": -181}, "silent", "check that sluice-enforcer runs there"),
    ],
    ids=["enforcing", "dry run", "refusing", "behind", "waiting", "silent"],
)
def test_state_of_an_agent_follows_what_it_said(
    viewer: Client, fleet: Fleet, change: dict[str, object], state: str, reason: str
) -> None:
    if isinstance(seconds := change.get("last_report_at"), int):
        change = {"last_report_at": fleet.now + timedelta(seconds=seconds)}
    Enforcer.objects.filter(host__name="kvm-02").update(**change)

    page = host_page(viewer, fleet, "kvm-02")

    assert page.text("h1") == f"kvm-02: the agent is {state}"
    assert reason in page.text(".lead")


def test_drift_is_counted_and_its_reason_shown(viewer: Client, fleet: Fleet) -> None:
    agents.report(
        fleet.hosts["kvm-02"],
        now=fleet.now,
        rates=RATES,
        drifted={"mail-1": "ceil was 10 Gbit/s; it is written again"},
    )

    page = host_page(viewer, fleet, "kvm-02")

    assert page.text("h1") == "kvm-02: the agent is failing"
    assert "1 allocation is drifted: ceil was 10 Gbit/s" in page.text(".lead")
    assert page_of(viewer.get("/hosts/")).row("table", "kvm-02")[5] == "1 of 3"


def test_old_drift_does_not_outlive_the_report_that_ends_it(viewer: Client, fleet: Fleet) -> None:
    drifted = {"mail-1": "ceil was 10 Gbit/s"}
    agents.report(
        fleet.hosts["kvm-02"],
        now=fleet.now - timedelta(seconds=4),
        rates=RATES,
        drifted=drifted,
    )

    agents.report(fleet.hosts["kvm-02"], now=fleet.now, rates=RATES)

    assert host_page(viewer, fleet, "kvm-02").text("h1") == "kvm-02: the agent is enforcing"


def test_agent_without_any_policy_left_is_idle(viewer: Client, fleet: Fleet) -> None:
    host = fleet.hosts["kvm-02"]
    PublishedDocument.objects.create(
        host=host,
        revision=2,
        content={"resources": [], "allocations": []},
        published_at=fleet.now,
    )
    Enforcer.objects.filter(host=host).update(
        applied_revision=2, enforcement_state=EnforcementState.IDLE
    )

    page = host_page(viewer, fleet, "kvm-02")

    assert page.text("h1") == "kvm-02: the agent is idle"


def test_ledger_shows_desired_read_back_measured_and_verdict(viewer: Client, fleet: Fleet) -> None:
    page = host_page(viewer, fleet, "kvm-02")

    ledger = page.elements("table")[-1]
    rows = [row.all_text() for row in ledger.walk() if row.tag == "tr"]
    backup = next(row for row in rows if "backup-7" in row).replace("\N{NO-BREAK SPACE}", " ")
    assert "limit 4.00 Gbit/s, shares 500" in backup
    assert "3.24 Gbit/s" in backup
    assert "unchanged" in backup
    assert "met" in backup
    # Four reports of three allocations each.
    assert len(rows) == 1 + 12


def test_ledger_says_what_became_of_each_control_where_they_differ(
    viewer: Client, fleet: Fleet
) -> None:
    held = {"outcome": "applied", "reason": "io.max: max -> 500"}
    short = {"outcome": "guessed_model", "reason": "the kernel guessed the model of 8:0"}
    ComplianceRecord.objects.filter(workload__name="mail-1").update(
        outcome="guessed_model",
        reason=short["reason"],
        controls={"reservation": held, "limit": held, "shares": short},
    )
    each = "reservation applied, limit applied, shares guessed model"

    page = host_page(viewer, fleet, "kvm-02")
    out = StringIO()
    call_command("compliance", "--organisation", fleet.organisation.slug, "--json", stdout=out)

    assert "1 allocation is guessed model: the kernel guessed" in page.text(".lead")
    assert f"guessed model{each}the kernel guessed the model of 8:0" in page.text("main")
    rows = {row["workload"]: row for row in json.loads(out.getvalue())}
    assert rows["mail-1"]["by_control"] == each
    assert rows["mail-1"]["controls"]["limit"] == held
    # One outcome for all is told once.
    assert rows["web-shop"]["by_control"] == ""


def test_ledger_is_shown_in_pages(viewer: Client, fleet: Fleet) -> None:
    for second in range(14):
        agents.report(
            fleet.hosts["kvm-02"], now=fleet.now + timedelta(seconds=second), rates=RATES
        )

    first, second = (
        page_of(viewer.get(f"/hosts/{fleet.hosts['kvm-02'].pk}/", {"page": number}))
        for number in (1, 2)
    )

    assert "Page 1 of 2" in first.all_text()
    # 18 reports of three allocations are 54 rows, 50 to a page.
    ledger = second.elements("table")[-1]
    assert sum(1 for row in ledger.walk() if row.tag == "tr") == 1 + 4


@pytest.mark.parametrize(
    ("newest_s", "reason"),
    [
        (590, "Its clock is 9 min ahead; set it right"),
        (-600, "No samples for 10 min; check that Telegraf runs there"),
        (20, ""),
    ],
    ids=["a clock that is ahead", "silent, or a clock that is behind", "some seconds off"],
)
def test_samples_of_a_wrong_time_are_told_on_every_page(
    viewer: Client, fleet: Fleet, newest_s: int, reason: str
) -> None:
    host = fleet.hosts["kvm-04"]
    host.last_sample_at = fleet.now + timedelta(seconds=newest_s)
    host.save()

    overview = page_of(viewer.get("/"))
    care = overview.all_text().split("Hosts needing attention")[1]
    said = StringIO()
    call_command("hosts", "--json", f"--organisation={fleet.organisation.slug}", stdout=said)

    (row,) = [one for one in json.loads(said.getvalue()) if one["name"] == "kvm-04"]
    assert (f"kvm-04 {reason}" in care) is bool(reason)
    assert reason in host_page(viewer, fleet, "kvm-04").text(".lead")
    assert row["samples"].startswith(reason or "arrive")
    # No sample is younger than the moment.
    assert "newest sample in" not in overview.all_text()


def test_name_that_several_machines_send_under_is_told_on_every_page(
    viewer: Client, fleet: Fleet
) -> None:
    host = fleet.hosts["kvm-04"]
    host.shared_at = fleet.now - timedelta(minutes=1)
    host.save()
    reason = "Several machines send under the name of kvm-04, or its clock was set back; give each"

    care = page_of(viewer.get("/")).all_text().split("Hosts needing attention")[1]
    said = StringIO()
    call_command("hosts", "--json", f"--organisation={fleet.organisation.slug}", stdout=said)
    attached = host.attachments.select_related("resource").get(resource__name="kvm-04/eno1")
    resource = page_of(viewer.get(f"/resources/{attached.resource.pk}/")).all_text()

    (row,) = [one for one in json.loads(said.getvalue()) if one["name"] == "kvm-04"]
    assert f"kvm-04 {reason}" in care
    assert reason in host_page(viewer, fleet, "kvm-04").text(".lead")
    assert reason in page_of(viewer.get("/hosts/")).row("table", "kvm-04")[2]
    assert row["samples"].startswith(reason)
    assert reason in resource


def test_host_without_an_agent_says_how_to_enrol_one(viewer: Client, fleet: Fleet) -> None:
    page = host_page(viewer, fleet, "kvm-04")

    assert page.text("h1") == "kvm-04: monitoring only"
    assert "sluice enroll kvm-04 --out" in page.text("pre")


def test_enrolled_host_without_a_report_waits(nothing_yet: Fleet) -> None:
    enroll(organisation=nothing_yet.organisation, host_name="h9")

    page = page_of(client_of(nothing_yet.people.viewer).get("/hosts/"))

    assert page.text("h1") == "1 host: 1 waiting"


def test_new_organisation_is_told_the_one_step(nothing_yet: Fleet) -> None:
    page = page_of(client_of(nothing_yet.people.viewer).get("/hosts/"))

    assert page.text(".button-primary") == "Connect a host"


def test_measurements_that_no_source_knows_are_on_the_page_of_their_host(
    viewer: Client, fleet: Fleet
) -> None:
    host = fleet.hosts["kvm-01"]
    count_unknown(
        host.organisation,
        {("kvm-01", "weather"): 7, ("kvm-02", "tides"): 3},
        now=fleet.now,
    )

    page = host_page(viewer, fleet, "kvm-01")

    assert page.row("table", "weather")[0] == "7"
    assert "tides" not in page.all_text()


def test_host_whose_lines_are_all_known_says_nothing_of_it(viewer: Client, fleet: Fleet) -> None:
    assert "Sent, and not known" not in host_page(viewer, fleet, "kvm-01").all_text()


def test_hosts_that_differ_by_capital_letters_are_kept_apart_and_named(
    viewer: Client, fleet: Fleet
) -> None:
    fleet.add_host("KVM-02", last_sample_at=fleet.now)

    text = host_page(viewer, fleet, "kvm-02").text(".notice")
    out = StringIO()
    call_command("hosts", "--json", f"--organisation={fleet.organisation.slug}", stdout=out)

    assert "KVM-02 is called the same but for capital letters" in text
    told = {one["name"]: one["other_case"] for one in json.loads(out.getvalue())}
    assert (told["kvm-02"], told["KVM-02"], told["kvm-01"]) == (["KVM-02"], ["kvm-02"], [])


def test_host_says_what_two_collectors_send_and_which_counts(viewer: Client, fleet: Fleet) -> None:
    host = fleet.hosts["kvm-02"]
    at = host.last_sample_at
    assert at is not None
    for further in ({}, {"dc": "fra"}):
        tags = {"host": host.name, "name": "nvme7n1", **further}
        Series.objects.create(
            organisation=fleet.organisation, host=host, measurement="diskio", subject="nvme7n1",
            tags=tags, tags_key=str(tags), source="diskio",
            first_sample_at=at - timedelta(hours=1), last_sample_at=at,
        )  # fmt: skip

    page = host_page(viewer, fleet, "kvm-02")
    out = StringIO()
    call_command("hosts", "--json", "--organisation", fleet.organisation.slug, stdout=out)

    assert page.row("table", "nvme7n1") == [
        "diskio", "diskio (dc=fra)", "diskio (no further tags)",
    ]  # fmt: skip
    (told,) = (one["sent_twice"] for one in json.loads(out.getvalue()) if one["name"] == "kvm-02")
    assert told == [
        {
            "measurement": "diskio",
            "subject": "nvme7n1",
            "device": "",
            "counted": {"source": "diskio", "tags": {"dc": "fra"}},
            "not_counted": [{"source": "diskio", "tags": {}}],
        }
    ]
