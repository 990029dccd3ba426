"""What a host gets to enforce: signed, leased, and only its own."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from advisor.core.allocation import ReservationMode
from advisor.decisions import inventory
from advisor.decisions.decide import approve, rollback
from advisor.decisions.documents import current_document
from advisor.decisions.enrolment import enroll
from advisor.errors import InventoryError
from advisor.models import (
    AdapterKind,
    Allocation,
    Enforcer,
    PublishedDocument,
    Resource,
    ResourceKind,
)
from enforcers.acceptance import accept
from enforcers.contract import (
    HOST_TRAFFIC,
    POOL,
    Selector,
    SignatureError,
    decode_document,
    encode_document,
    host_part_bits_per_s,
    verify,
)
from enforcers.mechanism import Plan
from enforcers.signed_document import DocumentReader
from tests.advisor.agent_keys import document_key, signed_document
from tests.advisor.agent_support import SUPPORT, state_support
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.rig import start_rig

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_document_is_signed_for_its_host_only(cluster: Cluster) -> None:
    other = enroll(organisation=cluster.organisation, host_name="h2")

    document = signed_document(cluster.enrolment, now=NOW)

    verify(document, document_key(cluster.enrolment))
    with pytest.raises(SignatureError):
        verify(document, document_key(other))
    with pytest.raises(SignatureError):
        verify(replace(document, dry_run=True), document_key(cluster.enrolment))


def test_document_before_any_policy_has_no_allocations(cluster: Cluster) -> None:
    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert document.allocations == ()
    assert document.resources == ()


def test_document_carries_what_was_approved(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    web_1, web_2, web_3, host = document.allocations
    assert (web_1.workload, web_1.reservation, web_1.selector.value) == ("web-1", 75 * MBIT, "p1")
    # 75 of 94 are reserved, the other 19 are shared by three
    assert web_1.entitlement == pytest.approx(75 * MBIT + 19 * MBIT / 3)
    assert web_2.entitlement == web_3.entitlement == pytest.approx(19 * MBIT / 3)
    assert document.resources[0].capacity == 94 * MBIT
    assert document.resources[0].device == "up0"
    # Of 94 Mbit/s a tenth, for what is on the host beside workloads; all three have 1000 shares.
    assert (host.reservation, host.limit, host.shares) == (pytest.approx(9.4 * MBIT), None, 1000)
    assert (host.selector.kind, host.selector.value) == (HOST_TRAFFIC, "up0")


@pytest.mark.parametrize(
    ("kind", "limit", "is_meant"),
    [
        ("shares", None, True),
        ("limit", 40 * MBIT, True),
        ("what_if", None, True),
        ("what_if", 40 * MBIT, False),
    ],
    ids=["advice", "advice on a limit", "draft", "draft of limits"],
)
def test_equal_shares_are_meant_unless_a_person_composed_limits(
    cluster: Cluster, kind: str, limit: float | None, is_meant: bool
) -> None:
    recommendation = propose(cluster, reservation=0.0)
    answer = json.loads(recommendation.answer)
    answer["allocations"][2]["limit"] = limit
    recommendation.kind, recommendation.answer = kind, json.dumps(answer)
    recommendation.save()

    approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)

    assert current_document(host=cluster.enrolment.host, now=NOW).resources[0].divides is is_meant


def test_version_that_is_repeated_means_what_it_meant(cluster: Cluster) -> None:
    for reservation in (0.0, 10 * MBIT):
        recommendation = propose(cluster, reservation=reservation)
        approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)
        end_guards()

    rollback(resource=cluster.uplink, user=cluster.people.owner, now=NOW)

    assert current_document(host=cluster.enrolment.host, now=NOW).resources[0].divides


def test_host_has_shares_as_the_workload_in_the_middle(cluster: Cluster) -> None:
    recommendation = propose(cluster)
    answer = json.loads(recommendation.answer)
    for item, shares in zip(answer["allocations"], (100, 50, 25), strict=True):
        item["shares"] = shares
    recommendation.answer = json.dumps(answer)
    recommendation.save()
    approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)

    *_, host = current_document(host=cluster.enrolment.host, now=NOW).allocations

    assert (host.selector.kind, host.shares) == (HOST_TRAFFIC, 50)


@pytest.mark.parametrize("mode", ReservationMode)
def test_agent_accepts_what_the_service_gives_the_host(
    cluster: Cluster, mode: ReservationMode
) -> None:
    Resource.objects.filter(pk=cluster.uplink.pk).update(mode=mode)
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    document = signed_document(cluster.enrolment, now=NOW)
    reader = DocumentReader(document_key(cluster.enrolment))

    read = reader.read(encode_document(document))

    assert accept(read, host="h1", held=None, now=NOW) == document.expires_at


def test_what_a_limit_holds_and_counts_is_sent_to_agents_that_read_it(cluster: Cluster) -> None:
    Allocation.objects.filter(workload__name="web-2").update(
        limit_scope="pooled", io_count="per_32_kib"
    )
    recommendation = propose(cluster)
    answer = json.loads(recommendation.answer)
    answer["allocations"][1]["limit"] = 20 * MBIT
    recommendation.answer = json.dumps(answer)
    recommendation.save()
    approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)
    key = document_key(cluster.enrolment)

    now = signed_document(cluster.enrolment, now=NOW)
    former = signed_document(cluster.enrolment, now=NOW, schema_version=1)

    assert [(item.limit_scope, item.io_count) for item in now.allocations[:2]] == [
        ("per_vdisk", "plain"),
        ("pooled", "per_32_kib"),
    ]
    assert former.allocations[1].limit == 20 * MBIT
    sent = json.loads(encode_document(former))
    assert (sent["schema_version"], sent["revision"]) == (1, now.revision)
    assert not [item for item in sent["allocations"] if "io_count" in item]
    verify(former, key)
    verify(decode_document(encode_document(former)), key)


def test_kind_of_the_hosts_own_traffic_is_admitted_and_sent(cluster: Cluster) -> None:
    def state(reservation: float) -> Allocation:
        return inventory.set_allocation(
            resource=cluster.uplink,
            workload_name="nfs of h1",
            host_name="h1",
            adapter_kind=AdapterKind.CGROUP,
            adapter="host_kind/nfs",
            reservation=reservation,
            limit=40 * MBIT,
            selector=("host_kind", "nfs"),
        )

    Allocation.objects.filter(workload__name="web-1").update(reservation=50 * MBIT)
    # 75 of 100 Mbit/s of the link may be reserved.
    with pytest.raises(InventoryError, match="does not fit"):
        state(26 * MBIT)
    kind = state(20 * MBIT)
    recommendation = propose(cluster, reservation=50 * MBIT)
    answer = json.loads(recommendation.answer)
    more = {"allocation": kind.pk, "workload": "nfs of h1", "shares": 500, "limit": 40 * MBIT}
    more |= {"reservation": 20 * MBIT, "entitlement": 0.0}
    recommendation.answer = json.dumps({**answer, "allocations": [*answer["allocations"], more]})
    recommendation.save()
    approve(recommendation=recommendation, user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    (sent,) = [item for item in document.allocations if item.selector.kind == "host_kind"]
    assert (sent.selector.value, sent.reservation, sent.limit) == ("nfs", 20 * MBIT, 40 * MBIT)
    assert sent.shares == 500
    # No limit of the host, which reservations of kinds could break.
    hosts = [item for item in document.allocations if item.selector.kind == HOST_TRAFFIC]
    assert [item.limit for item in hosts] == [None]
    signed = signed_document(cluster.enrolment, now=NOW)
    read = DocumentReader(document_key(cluster.enrolment)).read(encode_document(signed))
    assert accept(read, host="h1", held=None, now=NOW) == document.expires_at


def test_agent_that_does_not_know_the_hosts_own_traffic_is_sent_none(cluster: Cluster) -> None:
    former = replace(SUPPORT[0], selectors=("vnic", "source_address"))
    state_support(cluster.enrolment.host, (former, *SUPPORT[1:]))
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert [item.selector.kind for item in document.allocations] == ["vnic"] * 3


def test_pulling_again_renews_the_lease_of_the_same_revision(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    later = NOW + timedelta(minutes=5)

    first = current_document(host=cluster.enrolment.host, now=NOW)
    second = current_document(host=cluster.enrolment.host, now=later)

    assert first.revision == second.revision
    assert second.issued_at == later
    assert second.expires_at == later + timedelta(seconds=900)
    assert PublishedDocument.objects.count() == 1


def test_policy_of_one_host_stays_off_the_others(cluster: Cluster) -> None:
    other = enroll(organisation=cluster.organisation, host_name="h2")
    inventory.add_resource(
        organisation=cluster.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        capacity=94 * MBIT,
    )
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=other.host, now=NOW)

    assert document.allocations == ()


def test_changed_adapter_makes_a_new_revision(cluster: Cluster) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    before = current_document(host=cluster.enrolment.host, now=NOW)
    inventory.set_allocation(
        resource=cluster.uplink,
        workload_name="web-1",
        host_name="h1",
        adapter_kind=AdapterKind.VNIC,
        adapter="p9",
        reservation=75 * MBIT,
    )

    after = current_document(host=cluster.enrolment.host, now=NOW)

    assert after.revision == before.revision + 1
    assert after.allocations[0].selector.value == "p9"


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("/sys/fs/cgroup/machine.slice/vm1.scope", "/machine.slice/vm1.scope"),
        ("/machine.slice/vm1.scope", "/machine.slice/vm1.scope"),
        ("/sys/fs/cgroups/vm1.scope", "/sys/fs/cgroups/vm1.scope"),
    ],
)
def test_group_that_telegraf_sends_by_its_whole_path_is_named_below_the_mount(
    cluster: Cluster, sent: str, path: str
) -> None:
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    Allocation.objects.filter(workload__name="web-1").update(adapter_kind="cgroup", adapter=sent)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    selectors = {item.workload: item.selector for item in document.allocations}
    assert selectors["web-1"] == Selector(kind="cgroup", value=path)


def published(cluster: Cluster) -> dict[str, list[dict[str, object]]]:
    content: dict[str, list[dict[str, object]]] = PublishedDocument.objects.latest(
        "revision"
    ).content
    return content


def select(cluster: Cluster, kind: str, value: str) -> None:
    """Enforce web-1 by this."""
    inventory.set_allocation(
        resource=cluster.uplink,
        workload_name="web-1",
        host_name="h1",
        adapter_kind=AdapterKind.VNIC,
        adapter="p1",
        selector=(kind, value),
        reservation=75 * MBIT,
    )


def test_nothing_is_sent_before_the_agent_has_said_what_it_supports(cluster: Cluster) -> None:
    Enforcer.objects.update(support=[])
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    before = current_document(host=cluster.enrolment.host, now=NOW)
    waiting = published(cluster)["left_out"]
    state_support(cluster.enrolment.host)
    after = current_document(host=cluster.enrolment.host, now=NOW)

    assert before.allocations == ()
    reason = "the agent has not reported yet what this host supports"
    assert waiting == [{"what": "h1/up0", "reason": reason}]
    assert after.revision == before.revision + 1
    *workloads, _host = after.allocations
    assert {item.workload for item in workloads} == {"web-1", "web-2", "web-3"}
    assert "left_out" not in published(cluster)


def test_mechanism_is_the_one_that_the_agent_supports(cluster: Cluster) -> None:
    htb, *others = SUPPORT
    better = replace(htb, mechanism="tc_edt")
    state_support(cluster.enrolment.host, (replace(htb, supported=False), *others, better))
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert document.resources[0].mechanism == "tc_edt"


def test_other_mechanism_makes_a_new_revision(cluster: Cluster) -> None:
    htb, *others = SUPPORT
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    before = current_document(host=cluster.enrolment.host, now=NOW)
    state_support(cluster.enrolment.host, (replace(htb, mechanism="tc_edt"), *others))

    after = current_document(host=cluster.enrolment.host, now=NOW)

    assert (before.resources[0].mechanism, before.revision) == ("tc_htb", 1)
    assert (after.resources[0].mechanism, after.revision) == ("tc_edt", 2)


def test_agent_of_the_first_version_gets_the_document_it_always_got(cluster: Cluster) -> None:
    Enforcer.objects.update(
        support=[
            {"mechanism": "tc_htb", "supported": True, "reason": "HTB works"},
            {"mechanism": "cgroup_io", "supported": False, "reason": "cgroup v1"},
        ]
    )
    select(cluster, "source_address", "10.0.0.7")
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW, schema_version=1)

    wire = json.loads(encode_document(document))
    assert wire["schema_version"] == 1
    assert wire["resources"][0]["mechanism"] == "tc_htb"
    kinds = [item["selector"]["kind"] for item in wire["allocations"]]
    assert kinds == ["source_address", "vnic", "vnic"]


def test_selector_that_the_agent_does_not_know_is_not_sent_and_named(cluster: Cluster) -> None:
    select(cluster, "source_address", "10.0.0.7")
    Allocation.objects.filter(workload__name="web-2").update(selector_kind="mark", selector="7")
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    document = current_document(host=cluster.enrolment.host, now=NOW)

    *workloads, host = document.allocations
    assert [item.workload for item in workloads] == ["web-1", "web-3"]
    assert host.selector.kind == HOST_TRAFFIC
    known = sorted({kind for one in SUPPORT for kind in one.selectors} - {HOST_TRAFFIC, POOL})
    reason = f"its agent recognises no workload by mark, only by {', '.join(known)}"
    assert published(cluster)["left_out"] == [{"what": "web-2 on h1/up0", "reason": reason}]


def test_agent_from_before_names_of_workloads_is_sent_paths_alone(cluster: Cluster) -> None:
    htb, disk, _ = SUPPORT
    state_support(cluster.enrolment.host, (htb, replace(disk, selectors=("cgroup",))))
    named = Allocation.objects.filter(workload__name="web-2")
    named.update(selector_kind="systemd_unit", selector="db.service")
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)

    former = current_document(host=cluster.enrolment.host, now=NOW)
    (left_out,) = published(cluster)["left_out"]
    state_support(cluster.enrolment.host)
    present = current_document(host=cluster.enrolment.host, now=NOW, schema_version=1)

    assert [item.workload for item in former.allocations[:-1]] == ["web-1", "web-3"]
    assert "recognises no workload by systemd_unit, only by cgroup" in left_out["reason"]
    # The form of documents is the same: a selector is a word and a value in every version.
    kinds = {item.workload: item.selector.kind for item in present.allocations}
    assert kinds["web-2"] == "systemd_unit"


def test_source_address_goes_from_the_allocation_to_the_plan_of_the_kernel(
    cluster: Cluster, tmp_path: Path
) -> None:
    words = (
        "allocation set h1/up0 web-1 --vnic p1 --source-address 10.77.0.0/16 --reservation 75Mbit"
    )
    call_command(*words.split(), "--organisation", "acme", stdout=StringIO())
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    rig = start_rig(tmp_path, FakeTc("up0", "p1", "p2", "p3"))

    document = current_document(host=cluster.enrolment.host, now=NOW)
    ((_, plan),) = rig.enforcement.preview(document)

    assert isinstance(plan, Plan)
    told = [str(change.write) for change in plan.changes if "filter" in change.target]
    match = "protocol ip pref 116 u32 match ip src 10.77.0.0/16 classid 51ce:10"
    assert told[0] == f"tc filter add dev up0 parent 51ce: {match}"
    assert ["indev p2" in told[1], "indev p3" in told[2], len(told)] == [True, True, 3]


def test_policy_approved_with_a_measured_capacity_is_published_with_it(cluster: Cluster) -> None:
    Resource.objects.filter(pk=cluster.uplink.pk).update(capacity=None)
    approve(
        recommendation=propose(cluster, capacity=90 * MBIT), user=cluster.people.owner, now=NOW
    )

    document = current_document(host=cluster.enrolment.host, now=NOW)

    *workloads, host = document.allocations
    assert len(workloads) == 3
    # Its part is of the capacity in force.
    assert host.reservation == pytest.approx(host_part_bits_per_s(document.resources[0].capacity))
    assert document.resources[0].capacity == 90 * MBIT


def test_stated_capacity_wins_over_the_one_a_policy_was_approved_with(cluster: Cluster) -> None:
    approve(
        recommendation=propose(cluster, capacity=90 * MBIT), user=cluster.people.owner, now=NOW
    )

    document = current_document(host=cluster.enrolment.host, now=NOW)

    assert document.resources[0].capacity == 94 * MBIT
