"""`sluice import vcenter` on what Telegraf had found: what is shown, taken, and taken again."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.decisions.found import keep
from advisor.decisions.found.keep import keep_inventory
from advisor.decisions.found.rules import set_rules, stated_rules
from advisor.models import Allocation, Policy, Resource, Workload
from ingest import facts as stored_facts
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.advisor.vcenter_export import datastore, disk, esx, export, guest, pod, uuid_of, written

pytestmark = pytest.mark.django_db

HIGH = {"level": "high", "shares": 2000}


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")


def seen(
    organisation: Organisation,
    *guests: tuple[int, str],
    store: str = "nfs-08",
    minutes: float = 0,
    disks: tuple[str, ...] = ("scsi0:0",),
) -> None:
    """Samples as Telegraf sends them: of both hosts' datastore, and of guests (number, host)."""
    at = NOW + timedelta(minutes=minutes)
    stamp = int(at.timestamp()) * 1_000_000_000
    rates = "numberReadAveraged_average=10i,numberWriteAveraged_average=4i"
    times = "totalReadLatency_average=2i,totalWriteLatency_average=5i"
    lines = [
        f"vsphere_host_datastore,vcenter=vc,dcname=dc,esxhostname={host},dsname={store},lun=x "
        f"{rates},{times},read_average=2i,write_average=1i {stamp}"
        for host in ("esx1", "esx2")
    ]
    lines += [
        f"vsphere_vm_virtualDisk,vcenter=vc,esxhostname={host},vmname=vm{number},moid=vm-{number},"
        f"uuid={uuid_of(number)},disk={name} {rates},{times},read_average=40i,"
        f"write_average=16i {stamp}"
        for number, host in guests
        for name in disks
    ]
    send(organisation, "\n".join(lines), now=at)
    keep_inventory(organisation, now=at, is_asked=True)


def imported(*words: str | Path) -> dict[str, Any]:
    out = StringIO()
    call_command("import-vcenter", *map(str, words), "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def printed(*words: str | Path) -> str:
    out = StringIO()
    call_command("import-vcenter", *map(str, words), stdout=out)
    return out.getvalue()


def refused(*words: str | Path) -> str:
    with pytest.raises(CommandError) as refusal:
        imported(*words)
    return str(refusal.value)


def stated() -> dict[tuple[str, str, str], tuple[int | None, float | None, float]]:
    """Shares, limit and reservation of what was stated, by workload, host and disk."""
    rows = Allocation.objects.filter(found=False).select_related("workload", "host")
    return {
        (one.workload.name, one.host.name, one.vdisk): (one.shares, one.limit, one.reservation)
        for one in rows
    }


def left_out(found: dict[str, Any], kind: str) -> dict[str, str]:
    return {one["what"]: one["why"] for one in found["left_out"] if one["kind"] == kind}


def test_what_would_change_is_shown_and_nothing_is_changed(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"), (8, "esx2"))
    path = written(tmp_path, datastore(), guest(7, disk(**HIGH, limit=800)), guest(8, disk()))

    text = printed(path)

    assert "shares of the tier" in text
    assert "shares 2000, limit 800 IOPS" in text
    assert "Nothing was changed. Take it over with --apply" in text
    assert stated() == {}


def test_second_import_changes_nothing(acme: Organisation, tmp_path: Path) -> None:
    seen(acme, (7, "esx1"), (8, "esx2"))
    path = written(
        tmp_path,
        datastore(enabled=True, congestionThresholdMode="manual", congestionThreshold=20),
        guest(7, disk(**HIGH, limit=800)),
        guest(8, disk(level="custom", shares=300)),
        pod({"rule": [rule_for(7, 8)]}),
    )
    workloads = set(Workload.objects.values_list("pk", flat=True))

    first, second = imported(path, "--apply"), imported(path, "--apply")

    assert (first["changes"], first["applied"]) == (True, True)
    assert (second["changes"], second["allocations"], second["thresholds"]) == (False, [], [])
    assert second["rules_added"] == second["rules_removed"] == []
    # Two disks and a threshold.
    assert second["same"] == 3
    assert stated() == {
        ("vm7", "esx1", "scsi0:0"): (2000, 800.0, 0.0),
        ("vm8", "esx2", "scsi0:0"): (300, None, 0.0),
    }
    store = Resource.objects.get(name="nfs-08")
    assert (store.threshold, store.threshold_mode) == (20.0, "fixed")
    # What Telegraf saw and what vCenter states is one, and no host is told anything.
    assert set(Workload.objects.values_list("pk", flat=True)) == workloads
    assert not Policy.objects.exists()


def test_import_as_a_policy_file_states_what_the_import_would(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"))
    source = written(
        tmp_path,
        datastore(enabled=True, congestionThresholdMode="manual", congestionThreshold=20),
        guest(7, disk(**HIGH, limit=800)),
        pod({"rule": [rule_for(7, 8)]}),
    )
    policy = tmp_path / "policy.yaml"

    found = imported(source, "--policy-file", policy)
    before = stated()
    call_command("apply", str(policy), stdout=StringIO())

    assert (found["applied"], found["changes"], before) == (False, True, {})
    assert stated() == {("vm7", "esx1", "scsi0:0"): (2000, 800.0, 0.0)}
    assert imported(source)["changes"] is False


def rule_for(*numbers: int) -> dict[str, Any]:
    machines = [{"type": "VirtualMachine", "value": f"vm-{number}"} for number in numbers]
    return {"name": "never both", "vm": machines}


def test_samples_that_go_on_leave_what_was_stated(acme: Organisation, tmp_path: Path) -> None:
    disks = ("scsi0:0", "scsi0:1")
    seen(acme, (7, "esx1"), disks=disks)
    imported(written(tmp_path, datastore(), guest(7, disk(**HIGH), disk(2001, unit=1))), "--apply")

    seen(acme, (7, "esx1"), disks=disks, minutes=1)

    rows = Allocation.objects.filter(vanished_at=None, workload__name="vm7")
    # The other disk of the same VM keeps its default.
    assert sorted(rows.values_list("vdisk", "found", "shares")) == [
        ("scsi0:0", False, 2000),
        ("scsi0:1", True, None),
    ]


def test_what_is_stated_of_a_disk_follows_its_machine(acme: Organisation, tmp_path: Path) -> None:
    seen(acme, (7, "esx1"))
    imported(written(tmp_path, datastore(), guest(7, disk(**HIGH, limit=800))), "--apply")

    seen(acme, (7, "esx2"), minutes=1)
    # An hour later nothing of it is sent from the first host any more.
    seen(acme, (7, "esx2"), minutes=60)

    assert stated() == {("vm7", "esx2", "scsi0:0"): (2000, 800.0, 0.0)}
    assert Allocation.objects.filter(workload__name="vm7", vanished_at=None).count() == 1
    path = written(tmp_path, datastore(), guest(7, disk(**HIGH, limit=800), host=2))
    assert imported(path, "--apply")["changes"] is False


def test_disk_lies_where_vcenter_says_if_its_host_has_several_datastores(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, store="gold")
    seen(acme, (7, "esx1"))
    assert not Allocation.objects.exists()
    stores = datastore(), datastore(2, name="gold")
    settings = disk(**HIGH, limit=800)
    first = written(tmp_path, *stores, guest(7, settings), guest(8, disk(limit=9)))

    imported(first, "--apply")
    seen(acme, (7, "esx1"), minutes=1)
    again = imported(first, "--apply")

    assert stated() == {("vm7", "esx1", "scsi0:0"): (2000, 800.0, 0.0)}
    assert Allocation.objects.get().resource.name == "nfs-08"
    # Its size became known once it was there; what is not seen is not made.
    assert (again["allocations"], again["sizes"]) == ([], 1)
    assert list(left_out(again, "not seen yet")) == ["vm8 scsi0:0"]

    elsewhere = written(tmp_path, *stores, guest(7, settings, host=2))
    # It is still seen on the first host.
    assert imported(elsewhere)["changes"] is False
    seen(acme, (7, "esx2"), store="gold", minutes=60)
    seen(acme, (7, "esx2"), minutes=60)
    moved = imported(elsewhere, "--apply")

    assert [one["moved_from"] for one in moved["allocations"]] == ["esx1"]
    assert stated() == {("vm7", "esx2", "scsi0:0"): (2000, 800.0, 0.0)}


def test_reservation_needs_a_capacity_and_others_are_taken_all_the_same(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"), (8, "esx2"))
    path = written(
        tmp_path, datastore(), guest(7, disk(reservation=600)), guest(8, disk(reservation=500))
    )

    before = imported(path, "--apply")
    Resource.objects.update(capacity=1000.0)
    after = imported(path, "--apply")

    assert set(left_out(before, "refused")) == {"vm7 scsi0:0", "vm8 scsi0:0"}
    assert "its capacity is unknown" in left_out(before, "refused")["vm7 scsi0:0"]
    # 75 % of 1000 can be reserved: the smaller one fits, the other not beside it.
    assert stated() == {("vm8", "esx2", "scsi0:0"): (None, None, 500.0)}
    assert "does not fit" in left_out(after, "refused")["vm7 scsi0:0"]


def test_refused_reservation_leaves_shares_and_limit(acme: Organisation, tmp_path: Path) -> None:
    seen(acme, (7, "esx1"))
    path = written(tmp_path, datastore(), guest(7, disk(**HIGH, limit=800, reservation=600)))

    first, second = imported(path, "--apply"), imported(path, "--apply")

    assert stated() == {("vm7", "esx1", "scsi0:0"): (2000, 800.0, 0.0)}
    assert second["changes"] is False
    for found in (first, second):
        assert "capacity is unknown" in left_out(found, "refused")["vm7 scsi0:0"]


def test_default_of_vcenter_leaves_what_a_person_stated(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"))
    imported(written(tmp_path, datastore(), guest(7, disk(**HIGH))), "--apply")

    found = imported(written(tmp_path, datastore(), guest(7, disk())), "--apply")

    assert found["changes"] is False
    assert "vCenter has the default" in left_out(found, "kept as it is here")["vm7 scsi0:0"]
    assert stated() == {("vm7", "esx1", "scsi0:0"): (2000, None, 0.0)}


def test_iops_are_nothing_for_a_datastore_counted_in_bytes(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"))
    Resource.objects.update(unit="bytes_per_s")

    found = imported(written(tmp_path, datastore(), guest(7, disk(limit=800))), "--apply")

    assert stated() == {}
    assert "counted in bytes_per_s" in left_out(found, "no counterpart")["vm7 scsi0:0"]


def test_raw_disks_and_filters_have_no_counterpart(acme: Organisation, tmp_path: Path) -> None:
    seen(acme, (7, "esx1"))
    raw = disk(limit=9, backing={"compatibilityMode": "physicalMode"})
    filtered = disk(2001, unit=1, iofilter=["VMW_spm_1.0.0"])

    found = imported(written(tmp_path, datastore(), guest(7, raw, filtered)))

    assert found["allocations"] == []
    assert set(left_out(found, "no counterpart")) == {"vm7 scsi0:0", "vm7 scsi0:1"}


def test_two_machines_of_one_name_are_told_by_their_numbers(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"), (8, "esx2"))
    path = written(
        tmp_path,
        datastore(),
        guest(7, disk(limit=100), name="web"),
        guest(8, disk(limit=200), name="web"),
    )

    imported(path, "--apply")

    assert stated() == {
        ("vm7", "esx1", "scsi0:0"): (None, 100.0, 0.0),
        ("vm8", "esx2", "scsi0:0"): (None, 200.0, 0.0),
    }


def test_copy_with_the_same_uuid_takes_nothing_of_its_original(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"))
    copy = guest(9, disk(limit=200), name="copy", **{"config.uuid": uuid_of(7)})

    found = imported(written(tmp_path, datastore(), guest(7, disk(limit=100)), copy), "--apply")

    assert stated() == {("vm7", "esx1", "scsi0:0"): (None, 100.0, 0.0)}
    assert left_out(found, "not seen yet")["copy scsi0:0"] == "no samples of it are here"


def test_machine_and_datastore_that_are_not_seen_are_named(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"))
    store = datastore(
        2, name="gold/2", enabled=True, congestionThresholdMode="manual", congestionThreshold=25
    )
    path = written(
        tmp_path, datastore(), store, guest(7, disk(limit=9, store="datastore-2")),
        guest(8, disk(limit=9)), guest(9, disk()),
    )  # fmt: skip

    found = imported(path, "--apply")

    assert left_out(found, "not seen yet") == {
        "gold/2": "no samples of its datastore are here",
        "vm7 scsi0:0": "gold/2: no samples of its datastore are here",
        "vm8 scsi0:0": "no samples of it are here",
    }
    assert found["defaults"] == 1


def test_datastores_of_one_name_are_told_by_their_hosts(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"))
    sioc = {"enabled": True, "congestionThresholdMode": "manual"}
    elsewhere = datastore(2, hosts=(), congestionThreshold=50, **sioc)

    found = imported(
        written(tmp_path, elsewhere, datastore(1, congestionThreshold=20, **sioc)), "--apply"
    )

    assert [one["after"] for one in found["thresholds"]] == [20.0]
    assert set(left_out(found, "not seen yet")) == {"nfs-08"}


@pytest.mark.parametrize("called", ["nfs-08", "5f3a-1b", "datastore-1"])
def test_datastore_is_known_by_all_that_samples_call_it(
    acme: Organisation, tmp_path: Path, called: str
) -> None:
    seen(acme, (7, "esx1"), store=called)
    store = datastore()
    store["changeSet"].append({"name": "summary.url", "val": "ds:///vmfs/volumes/5f3a-1b/"})

    found = imported(written(tmp_path, store, guest(7, disk(limit=9))))

    assert [one["of"] for one in found["allocations"]] == ["vm7 scsi0:0"]


def test_automatic_threshold_is_learnt_here(acme: Organisation, tmp_path: Path) -> None:
    seen(acme)
    sioc = {"enabled": True, "congestionThresholdMode": "automatic"}

    found = imported(written(tmp_path, datastore(**sioc, percentOfPeakThroughput=80)), "--apply")

    store = Resource.objects.get(name="nfs-08")
    assert (store.threshold, store.threshold_mode) == (30.0, "peak_throughput")
    assert "learnt at 90 %" in left_out(found, "no counterpart")["nfs-08"]


def test_threshold_that_is_switched_off_is_not_taken(acme: Organisation, tmp_path: Path) -> None:
    seen(acme)
    sioc = {"enabled": False, "congestionThresholdMode": "manual", "congestionThreshold": 12}

    found = imported(written(tmp_path, datastore(**sioc)), "--apply")

    assert found["thresholds"] == []
    assert "switched off" in left_out(found, "no counterpart")["nfs-08"]


def test_rules_of_the_vcenter_stand_beside_those_of_people(
    acme: Organisation, tmp_path: Path
) -> None:
    seen(acme, (7, "esx1"), (8, "esx2"))
    set_rules(acme, "tier: high where name ~ db-*\n", now=NOW)
    guests = guest(7, disk()), guest(8, disk())

    imported(written(tmp_path, *guests, pod({"rule": [rule_for(7, 8)]})), "--apply")
    with_rule = stated_rules(acme)
    imported(written(tmp_path, *guests, pod({})), "--apply")

    assert with_rule == (
        "tier: high where name ~ db-*\n"
        "# begin of vCenter vcenter\n"
        "keep-apart: 'vm7' 'vm8'\n"
        "# end of vCenter vcenter\n"
    )
    assert stated_rules(acme) == "tier: high where name ~ db-*\n"


def test_another_organisation_sees_and_changes_nothing(acme: Organisation, tmp_path: Path) -> None:
    other = Organisation.objects.create(slug="other", name="Other")
    seen(acme, (7, "esx1"))
    stored_facts.MEMORY.forget()
    seen(other, (7, "esx1"))
    sioc = {"enabled": True, "congestionThresholdMode": "manual", "congestionThreshold": 12}
    path = written(tmp_path, datastore(**sioc), guest(7, disk(limit=800)))

    imported(path, "--apply", "--organisation", "other")

    own = Allocation.objects.get(workload__organisation=acme)
    assert (own.limit, own.found) == (None, True)
    assert Resource.objects.get(organisation=acme).threshold == 30.0
    theirs = Allocation.objects.get(workload__organisation=other)
    assert (theirs.limit, theirs.found) == (800.0, False)


def test_sizes_become_known_where_they_were_not(acme: Organisation, tmp_path: Path) -> None:
    seen(acme, (7, "esx1"))
    path = written(tmp_path, datastore(), guest(7, disk()))

    assert imported(path, "--apply")["sizes"] == 2

    assert Allocation.objects.get().size_bytes == 10 * 1024**3
    assert Resource.objects.get().size_bytes == 1000 * 1024**3
    assert imported(path, "--apply")["changes"] is False


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere.json"], "nowhere.json cannot be read"),
        (["https://vc.example.com"], "a running vCenter needs --user"),
        (["https://vc.example.com", "--user", "u"], "there is no password"),
        (["https://u:p@vc.example.com", "--user", "u"], "leave user and password out"),
        (["http://vc.example.com", "--user", "u"], "would send the password unprotected"),
        (["ftp://vc.example.com", "--user", "u"], "is no address such as https://"),
        (["https://127.0.0.1:1", "--user", "u"], "https://127.0.0.1:1 cannot be reached"),
    ],
)
def test_wrong_source_is_refused_in_one_line(
    acme: Organisation, monkeypatch: pytest.MonkeyPatch, words: list[str], complaint: str
) -> None:
    if complaint != "there is no password":
        monkeypatch.setenv("SLUICE_VCENTER_PASSWORD", "secret")

    text = refused(*words)

    assert complaint in text
    assert "secret" not in text
    assert "\n" not in text


def test_export_without_machines_says_what_is_missing(acme: Organisation, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(esx(1)))

    assert "role Read-only" in refused(path)


def test_many_machines_take_few_statements(
    acme: Organisation, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    seen(acme, *((number, "esx1") for number in range(40)))
    path = tmp_path / "many.json"
    path.write_text(export(datastore(), *(guest(number, disk()) for number in range(40))))
    imported(path, "--apply")

    with django_assert_max_num_queries(20):
        found = imported(path, "--apply")

    assert found["defaults"] == 40
