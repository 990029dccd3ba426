"""What ingest accepts fits wherever it is kept, and on the wire."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db.models import CharField

from accounts.models import Organisation, Token
from advisor.decisions.discovery import discover
from advisor.decisions.enrolment import enroll
from advisor.decisions.inventory import InventoryError, add_resource, set_allocation
from advisor.models import ResourceKind
from enforcers.contract import LONGEST_SELECTOR
from enforcers.field_checks import LONGEST_NAME as LONGEST_ON_WIRE
from ingest.core.catalogue import MEASUREMENTS
from ingest.core.lengths import LONGEST_DEVICE, LONGEST_HOST_NAME, LONGEST_PATH, LONGEST_TOKEN_NAME
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, make_cluster

LONGEST_RESOURCE = LONGEST_HOST_NAME + 1 + LONGEST_DEVICE
HOLDS = {
    # Sent by hosts.
    "ingest.Host.name": LONGEST_HOST_NAME,
    "ingest.StatedFact.host": LONGEST_HOST_NAME,
    "ingest.StatedFact.subject": LONGEST_PATH,
    "ingest.UnknownMeasurement.host": LONGEST_HOST_NAME,
    "ingest.Series.measurement": max(len(one.name) for one in MEASUREMENTS),
    "ingest.Series.subject": max(one.longest_subject for one in MEASUREMENTS),
    "accounts.JoinToken.host_name": LONGEST_HOST_NAME,
    # Made of what hosts sent.
    "advisor.Resource.name": LONGEST_RESOURCE,
    "advisor.Attachment.device": LONGEST_DEVICE,
    "advisor.Allocation.adapter": LONGEST_PATH,
    "advisor.Allocation.selector": LONGEST_PATH,
    "advisor.Track.subject": max(one.longest_subject for one in MEASUREMENTS),
    "advisor.Track.device": LONGEST_DEVICE,
    # Said by people about the same things; a workload's name becomes the subject of advice.
    "advisor.Workload.name": 200,
    "advisor.NaturalScore.workload": 200,
    "advisor.Pool.name": 200,
    "advisor.PlacementMove.workload": 200,
    "advisor.ClassChange.workload": 200,
    "advisor.PlacementMove.source": LONGEST_HOST_NAME,
    "advisor.PlacementMove.target": LONGEST_HOST_NAME,
    "advisor.Team.name": 200,
    "advisor.Allocation.vdisk": 200,
    "advisor.Resource.disks": 200,
    "advisor.Recommendation.subject": 200,
    "advisor.MaintenanceWindow.name": 200,
    # Shortened to this.
    "accounts.Token.name": LONGEST_TOKEN_NAME,
}
"""By column, how long what it has to hold can be."""

NAMED_BY_THE_PRODUCT = {
    "accounts.Membership.role", "accounts.Organisation.name", "accounts.Organisation.slug",
    "accounts.AuditEntry.actor", "accounts.AuditEntry.action", "accounts.AuditEntry.address",
    "accounts.AuditEntry.hash", "accounts.AuditEntry.previous_hash", "accounts.AuditHead.hash",
    "accounts.Invitation.mail", "accounts.Invitation.digest", "accounts.Invitation.invited_by",
    "accounts.JoinToken.digest", "accounts.JoinToken.made_by", "ingest.HostJoin.address",
    "accounts.KeptAnswer.asked", "accounts.KeptAnswer.key", "accounts.Profile.time_zone",
    "advisor.NotificationChannel.name", "advisor.NotificationChannel.zone",
    "advisor.NotificationChannel.stopped_because",
    "advisor.NotificationRule.name", "advisor.NotificationRule.zone",
    "advisor.ReadSource.name", "advisor.ReadSource.address", "advisor.ReadSource.user",
    "advisor.ReadSource.fingerprint", "advisor.ReadSource.says", "advisor.ReadSource.tier_label",
    # As Kubernetes bounds them; what is longer is left out when it is read.
    "advisor.ClusterPod.uid", "advisor.ClusterPod.namespace", "advisor.ClusterPod.name",
    "advisor.ClusterPod.node", "advisor.ClusterPod.owner", "advisor.ClusterClaim.uid",
    "advisor.ClusterClaim.namespace", "advisor.ClusterClaim.name", "advisor.ClusterClaim.volume",
    "advisor.ClusterClaim.driver", "advisor.ClusterClaim.storage_class",
    "advisor.ClusterClaim.asked_class", "advisor.ClusterClaim.current_class",
    "advisor.ClusterClaim.change", "advisor.ClassChange.uid", "advisor.ClassChange.namespace",
    "advisor.ClassChange.name", "advisor.ClassChange.former", "advisor.ClassChange.wanted",
    "advisor.ClassChange.asked_by", "advisor.ReadSource.class_rates",
    "advisor.VolumeClass.name", "advisor.VolumeClass.driver",
    "advisor.ReadSource.trial_says",
    "advisor.NotificationSilence.reason", "advisor.NotificationSilence.made_by",
    "advisor.Delivery.reason",
    "advisor.ReportSubscription.name", "advisor.ReportSubscription.zone",
    "advisor.ReportSubscription.tag", "advisor.ReportSubscription.stopped_because",
    "advisor.ReportDelivery.file_name", "advisor.SharedReport.title",
    "advisor.SharedReport.made_by",
    "advisor.SavedView.name", "advisor.SavedView.query",
    "advisor.IncidentNote.by", "advisor.IncidentNote.text", "advisor.IncidentNote.carer_name",
    "advisor.LadderRule.kind", "advisor.LadderRule.name", "advisor.LadderRule.zone",
    # People, whose names have 150 characters, and the product's own parts.
    "accounts.Token.made_by", "advisor.PolicyChange.who", "advisor.PlacementMove.asked_by",
    "advisor.RolloutTerms.stopped_by",
    "advisor.RecommendationChange.actor", "advisor.RecommendationChange.address",
    # Shortened to this.
    "accounts.AuditEntry.subject",
    "accounts.Token.scope", "accounts.Token.digest",
    "advisor.MaintenanceWindow.zone", "advisor.Allocation.selector_kind",
    "advisor.Recommendation.topic", "advisor.Recommendation.kind",
    "advisor.ComplianceRecord.allocation", "advisor.FailedWork.task",
    "advisor.ComplianceRecord.outcome", "advisor.ComplianceRecord.verdict",
    "advisor.AgentKey.salt", "advisor.AgentKey.public_key", "advisor.AgentKey.report_key",
    "advisor.Enforcer.agent_version", "advisor.Enforcer.composed_of",
    "advisor.Enforcer.enforcement_state", "advisor.Shard.kind", "advisor.Track.kind",
    "ingest.Series.source", "ingest.StatedFact.kind", "ingest.StatedFact.name",
    "ingest.UnknownMeasurement.measurement", "ingest.Import.digest", "ingest.Import.format",
}  # fmt: skip
"""Columns that hold no name of a host, device or workload."""


def columns() -> dict[str, CharField]:
    """Every text column with a limit whose values are not a closed set."""
    return {
        f"{model._meta.label}.{field.name}": field
        for label in ("accounts", "ingest", "advisor")
        for model in apps.get_app_config(label).get_models()
        for field in model._meta.get_fields()
        if isinstance(field, CharField) and not field.choices
    }


@pytest.mark.parametrize("name", sorted(HOLDS))
def test_column_has_room_for_the_longest_name(name: str) -> None:
    assert columns()[name].max_length >= HOLDS[name]


def test_every_column_is_looked_at() -> None:
    assert set(columns()) <= HOLDS.keys() | NAMED_BY_THE_PRODUCT


def test_the_wire_has_room_for_the_longest_name() -> None:
    assert LONGEST_ON_WIRE >= LONGEST_RESOURCE
    assert LONGEST_SELECTOR >= LONGEST_PATH


@pytest.mark.django_db
@pytest.mark.parametrize("letter", ["h", "é", "主", "🜚"], ids=["1 byte", "2", "3", "4"])
def test_longest_host_and_device_are_discovered(letter: str) -> None:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    host, device = letter * LONGEST_HOST_NAME, "sd" + "a" * (LONGEST_DEVICE - 2)
    stamp = int(NOW.timestamp()) * 10**9
    send(organisation, f"diskio,host={host},name={device} reads=1i,writes=1i {stamp}", now=NOW)

    (found,) = discover(organisation=organisation)

    assert found.name == f"{host}/{device}"


@pytest.mark.django_db
def test_too_long_a_stated_name_is_refused_with_what_is_allowed() -> None:
    cluster = make_cluster()
    organisation = cluster.organisation

    with pytest.raises(InventoryError, match="has a name of 510 characters; it can have 509"):
        add_resource(
            organisation=organisation,
            name="n" * 510,
            kind=ResourceKind.DATASTORE,
            attachments=[("h1", "sda")],
        )
    with pytest.raises(InventoryError, match="has a name of 254 characters; it can have 253"):
        add_resource(
            organisation=organisation,
            name="nfs",
            kind=ResourceKind.DATASTORE,
            attachments=[("h" * 254, "sda")],
        )
    with pytest.raises(InventoryError, match="has a name of 201 characters; it can have 200"):
        set_allocation(
            resource=cluster.uplink,
            workload_name="w" * 201,
            host_name="h1",
            adapter_kind="vnic",
            adapter="p1",
        )


@pytest.mark.django_db
def test_host_with_the_longest_name_gets_an_agent() -> None:
    organisation = Organisation.objects.create(slug="acme", name="Acme")

    enrolment = enroll(organisation=organisation, host_name="h" * LONGEST_HOST_NAME)

    token = Token.objects.get(host=enrolment.host)
    assert token.name == "agent of " + "h" * 90 + "…"
