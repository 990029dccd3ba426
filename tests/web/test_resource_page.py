"""A resource's page says why it is slow, who gets what, and takes a policy back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client

from advisor.models import (
    Allocation,
    Attachment,
    Incident,
    Policy,
    Resource,
    ResourceKind,
    ResourceStatus,
    Unit,
)
from ingest.models import Series, StatedFact
from tests.advisor.judged_windows import judge, judged_window
from tests.web import agents
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of
from tests.web.scenario import GBIT


def shown(client: Client, fleet: Fleet, name: str, **query: str) -> Page:
    return page_of(client.get(f"/resources/{fleet.resources[name].pk}/", query))


def test_heading_and_first_line_say_state_value_and_threshold(
    viewer: Client, fleet: Fleet
) -> None:
    ResourceStatus.objects.filter(resource=fleet.resources["nfs-07"]).update(
        value=38.04, threshold=15.0, state_since=fleet.now - timedelta(minutes=42)
    )

    page = shown(viewer, fleet, "nfs-07")

    assert page.text("h1") == "nfs-07 is congested"
    assert page.text(".lead").startswith(
        "38.0 ms against a threshold of 15.0 ms, congested for 42 min."
    )


def test_uplink_is_told_in_percent_of_its_capacity(viewer: Client, fleet: Fleet) -> None:
    ResourceStatus.objects.filter(resource=fleet.resources["kvm-02/eno1"]).update(value=0.843)

    page = shown(viewer, fleet, "kvm-02/eno1")

    assert page.text("h1") == "kvm-02/eno1 is near its threshold"
    assert page.text(".lead").startswith("84.3 % against a threshold of 90.0 %, near.")


@pytest.mark.parametrize(("hosts", "more"), [(3, ""), (40, "+37 more hosts of san-big")])
def test_three_hosts_are_named_and_the_rest_counted(
    viewer: Client, fleet: Fleet, hosts: int, more: str
) -> None:
    names = [f"node-{number:02}" for number in range(hosts)]
    for name in names:
        fleet.add_host(name, last_sample_at=fleet.now)
    fleet.add_resource(
        "san-big",
        ResourceKind.DATASTORE,
        capacity=100.0,
        threshold=20.0,
        attachments=tuple((name, "sdb") for name in names),
    )
    fleet = replace(fleet, resources={"san-big": Resource.objects.get(name="san-big")})

    page = shown(viewer, fleet, "san-big")

    crumb = page.text(".crumb")
    assert crumb == " ".join(f"Datastore on node-00:sdb, node-01:sdb, node-02:sdb {more}".split())
    if more:
        assert page.links()[more] == "/hosts/?resource=san-big"


def test_unknown_state_says_the_reason(viewer: Client, fleet: Fleet) -> None:
    page = shown(viewer, fleet, "kvm-05/sda")

    assert page.text("h1") == "kvm-05/sda has an unknown state"
    assert "No samples yet; is Telegraf running on kvm-05?" in page.text(".lead")


def test_allocations_show_promise_entitlement_rate_and_verdict(
    viewer: Client, fleet: Fleet
) -> None:
    row = shown(viewer, fleet, "kvm-02/eno1").row("#resource-allocations", "web-shop")

    host, tier, shares, reservation, limit, entitled, got, role, verdict = row
    assert (host, tier, shares) == ("kvm-02", "medium", "1000")
    assert (reservation, entitled) == ("3.00", "5.80")
    assert limit.startswith("–no value: there is no limit")
    # The story has it at 3.6 Gbit/s, give or take its noise.
    assert float(got) == pytest.approx(3.6, rel=0.25)
    assert role == ""
    assert verdict == "no demand"


def test_allocations_of_an_open_incident_say_who_takes_and_who_misses(
    viewer: Client, fleet: Fleet
) -> None:
    Incident.objects.filter(ended_at=None).update(
        aggressors=[{"workload": "batch-3", "part_ratio": 0.612}],
        victims=[{"workload": "db-orders", "shortfall_ratio": 0.404}],
    )

    page = shown(viewer, fleet, "nfs-07")

    assert page.row("#resource-allocations", "batch-3")[7] == "uses 61 %"
    assert page.row("#resource-allocations", "db-orders")[7] == "40 % below entitlement"


def test_rate_without_recent_samples_is_a_dash_with_its_reason(
    viewer: Client, fleet: Fleet
) -> None:
    Allocation.objects.filter(workload__name="mail-1").update(adapter="/nothing/there")

    got = shown(viewer, fleet, "nfs-07").row("#resource-allocations", "mail-1")[6]

    assert got == "–no value: no samples of its adapter in the last two minutes"


def test_resource_without_allocations_says_how_to_state_one(viewer: Client, fleet: Fleet) -> None:
    text = shown(viewer, fleet, "san-02").text("#resource-allocations")

    assert "sluice allocation set san-02 WORKLOAD --cgroup PATH" in text


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("nfs-07", ["level", "workloads", "outstanding", "iops", "throughput"]),
        ("san-02", ["level", "outstanding", "iops", "throughput"]),
        ("kvm-02/eno1", ["level", "workloads", "rate", "losses"]),
        ("kvm-04/eno1", ["rate", "losses"]),
    ],
    ids=["datastore", "without allocations", "uplink", "without a capacity"],
)
def test_places_of_the_charts_stand_before_their_data(
    viewer: Client, fleet: Fleet, name: str, keys: list[str]
) -> None:
    page = shown(viewer, fleet, name)

    assert [figure["data-chart"] for figure in page.elements("figure")] == keys


def test_uplink_without_a_capacity_says_how_to_state_it(viewer: Client, fleet: Fleet) -> None:
    text = shown(viewer, fleet, "kvm-04/eno1").text(".notice")

    assert "sluice resource set kvm-04/eno1 --capacity" in text


@pytest.mark.parametrize("unit", [Unit.IOPS, Unit.BYTES_PER_S])
def test_load_of_a_datastore_is_told_in_ios_whatever_its_allocations_are_counted_in(
    viewer: Client, fleet: Fleet, unit: Unit
) -> None:
    datastore = fleet.resources["san-02"]
    Resource.objects.filter(pk=datastore.pk).update(unit=unit)
    judge(datastore, judged_window(fleet.now, load=122.0))

    facts = shown(viewer, fleet, "san-02").text(".facts")

    assert "122 IOPS" in facts


def test_device_that_fell_silent_is_named_where_others_go_on(viewer: Client, fleet: Fleet) -> None:
    datastore = fleet.resources["nfs-07"]
    quiet = datastore.attachments.select_related("host").first()
    assert quiet is not None
    Series.objects.filter(host=quiet.host, subject=quiet.device).update(
        last_sample_at=fleet.now - timedelta(hours=1)
    )

    notices = shown(viewer, fleet, "nfs-07").all_text()

    assert f"No samples of {quiet} since 11:00:00 UTC: its I/O is not visible" in notices
    assert "is not seen" not in shown(viewer, fleet, "san-02").all_text()


def test_idle_resource_says_so_instead_of_a_value(viewer: Client, fleet: Fleet) -> None:
    ResourceStatus.objects.filter(resource=fleet.resources["san-02"]).update(
        value=None, reason="idle: less than 10.0 IOPS"
    )

    lead = shown(viewer, fleet, "san-02").text(".lead")

    assert lead.startswith("Clear for")
    assert lead.endswith(": idle: less than 10.0 IOPS.")


def test_range_of_the_address_is_marked(viewer: Client, fleet: Fleet) -> None:
    page = shown(viewer, fleet, "nfs-07", range="6h")

    marked = [link.all_text() for link in page.elements(".choices a") if link.get("aria-current")]
    assert marked == ["6h"]


def test_unreadable_range_says_so_and_shows_the_default(viewer: Client, fleet: Fleet) -> None:
    page = shown(viewer, fleet, "nfs-07", range="2y")

    assert page.text(".form-error").startswith('There is no range "2y".')


def publish_again(fleet: Fleet) -> Policy:
    return agents.publish(
        fleet.resources["kvm-02/eno1"],
        by=fleet.people.owner,
        now=fleet.now,
        entitlements={"web-shop": 5 * GBIT, "mail-1": 3 * GBIT, "backup-7": 2 * GBIT},
    )


@pytest.mark.parametrize(("version", "allocations"), [(1, 3), (0, 0)], ids=["earlier", "none"])
def test_roll_back_repeats_a_version_as_a_new_one(
    fleet: Fleet, operator: Client, version: int, allocations: int
) -> None:
    publish_again(fleet)
    uplink = fleet.resources["kvm-02/eno1"]

    page = page_of(
        operator.post(f"/resources/{uplink.pk}/rollback/", {"version": version}, follow=True)
    )

    newest = Policy.objects.filter(resource=uplink).first()
    assert newest is not None
    assert (newest.version, len(newest.allocations)) == (3, allocations)
    said = page.text(".messages")
    assert f"Version 3 repeats version {version}. It is published, not applied: " in said


def test_roll_back_asks_with_hosts_and_the_way_back(fleet: Fleet, operator: Client) -> None:
    publish_again(fleet)

    question = shown(operator, fleet, "kvm-02/eno1").text("#roll-back-1")

    assert "become version 3 and take effect on 1 host with an agent" in question
    assert "To undo this, roll back to version 2" in question


@pytest.mark.parametrize(
    ("version", "status", "reason"),
    [
        ("7", 409, "has no version 7 to go back to"),
        ("", 400, "Say which version"),
        ("-1", 400, "Say which version"),
    ],
)
def test_roll_back_to_what_does_not_exist_changes_nothing(
    fleet: Fleet, operator: Client, version: str, status: int, reason: str
) -> None:
    uplink = fleet.resources["kvm-02/eno1"]

    page = page_of(
        operator.post(f"/resources/{uplink.pk}/rollback/", {"version": version}), status=status
    )

    assert reason in page.text(".messages")
    assert Policy.objects.filter(resource=uplink).count() == 1


@pytest.mark.parametrize("part", ["head", "allocations", "devices"])
def test_parts_of_the_page_are_renewed_alone(viewer: Client, fleet: Fleet, part: str) -> None:
    address = f"/resources/{fleet.resources['nfs-07'].pk}/?part={part}"

    text = viewer.get(address, headers={"HX-Request": "true"}).content.decode()

    assert "<html" not in text
    assert ("<h1>" in text, "<table" in text) == (part == "head", part != "head")


def test_devices_show_what_their_hosts_say(viewer: Client, fleet: Fleet) -> None:
    resource = fleet.resources["nfs-07"]
    at = resource.attachments.order_by("host__name").first()
    assert at is not None
    Attachment.objects.filter(pk=at.pk).update(device_queue_depth=64, derived_queue_depth=64)
    said = {"scheduler": "mq-deadline", "size_bytes": str(2 * 1024**3)}
    for name, value in said.items():
        StatedFact.objects.create(
            organisation=fleet.organisation, host=at.host.name, kind="device", subject=at.device,
            name=name, value=value, first_seen_at=fleet.now, last_seen_at=fleet.now,
        )  # fmt: skip

    answer = viewer.get(f"/resources/{resource.pk}/?part=devices", headers={"HX-Request": "true"})

    row = page_of(answer).row("table", f"{at.host.name}:{at.device}")
    assert row == ["64 said by the host", "mq-deadline", "2.0 GB"]


def test_line_rate_of_an_uplink_is_what_its_host_says(viewer: Client, fleet: Fleet) -> None:
    resource = fleet.resources["kvm-02/eno1"]
    StatedFact.objects.create(
        organisation=fleet.organisation, host="kvm-02", kind="nic", subject="eno1", name="speed",
        value="25000", first_seen_at=fleet.now, last_seen_at=fleet.now,
    )  # fmt: skip

    answer = viewer.get(f"/resources/{resource.pk}/?part=devices", headers={"HX-Request": "true"})

    assert page_of(answer).row("table", "kvm-02:eno1") == ["25.0 Gbit/s"]


def test_new_organisation_sees_no_resource_of_others(fleet: Fleet, nothing_yet: Fleet) -> None:
    stranger = client_of(nothing_yet.people.owner)

    answer = stranger.get(f"/resources/{fleet.resources['nfs-07'].pk}/")

    assert answer.status_code == 404


def test_states_before_late_samples_are_told(viewer: Client, fleet: Fleet) -> None:
    begin = fleet.now.replace(hour=11, minute=0, second=0, microsecond=0)
    ends = [begin + timedelta(minutes=minutes) for minutes in (0, 10, 20)]
    fleet.resources["nfs-07"].earlier_states.create(
        since=ends[0],
        until=ends[2],
        replaced_at=fleet.now,
        states=[
            {"since": one.isoformat(), "until": other.isoformat(), "state": state, "value": value}
            for one, other, state, value in (
                (ends[0], ends[1], "congested", 71.5),
                (ends[1], ends[2], "clear", 4.0),
            )
        ],
    )

    said = shown(viewer, fleet, "nfs-07").text("#earlier-states")

    day = f"{begin:%Y-%m-%d}"
    assert f"Until {fleet.now:%Y-%m-%d %H:%M:%S} UTC" in said
    assert f"{day} 11:00:00 to {day} 11:20:00 UTC: congested from 11:00:00 to 11:10:00" in said
    assert "(up to 71.5 ms); otherwise clear." in said
    assert "Judged again" not in shown(viewer, fleet, "san-02").all_text()


def test_reasons_of_merges_and_refusals_are_told(viewer: Client, fleet: Fleet) -> None:
    merged = {"rule": "wwn", "text": "they have the same WWN", "places": ["h1:sda", "h2:sdb"]}
    refused = {"rule": "wwn", "text": "the WWN is of others too", "places": ["h3:sdb"]}
    Resource.objects.filter(pk=fleet.resources["nfs-07"].pk).update(
        reasons=[{**refused, "merged": False}, {**merged, "merged": True}]
    )

    told = shown(viewer, fleet, "nfs-07").text("#identity")

    assert "h1:sda and h2:sdb" in told
    assert told.index("they have the same WWN") < told.index("not one: the WWN is of others too")
