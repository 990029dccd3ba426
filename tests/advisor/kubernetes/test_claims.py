"""Where claims lie and who uses them, as hosts and clusters say it together."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Organisation
from advisor.decisions.found import keep
from advisor.models import ClusterClaim, ClusterPod, ReadSource, Resource, Workload
from advisor.models.source import SourceKind
from advisor.queries.claims import claims_of, claims_on, pods_of
from ingest import facts as stored_facts
from tests.advisor.decisions.found_inventory import cgroup, disk, number, tell
from tests.advisor.kubernetes.small_cluster import UID
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db

POD = f"/kubepods/burstable/pod{UID.format(1)}"


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    # A busy machine would rest between two looks.
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")


def cluster(organisation: Organisation, name: str = "main", **claim: Any) -> ReadSource:
    """A pod `shop/db-0` with one claim, as they were read."""
    source = ReadSource.objects.create(
        organisation=organisation, kind=SourceKind.KUBERNETES, name=name, takes_over=True,
        address="https://k.example.org", password="x", next_at=NOW, kept_at=NOW,
    )  # fmt: skip
    ClusterPod.objects.create(
        organisation=organisation, source=source, uid=UID.format(1), namespace="shop",
        name="db-0", labels={"team": "red"}, claims=["data-db-0"],
    )  # fmt: skip
    about = {"uid": "c-1", "namespace": "shop", "name": "data-db-0", "volume": "pvc-1"}
    ClusterClaim.objects.create(organisation=organisation, source=source, **{**about, **claim})
    return source


def sends(organisation: Organisation, *, volume: str = "pvc-1") -> None:
    """A node whose pod does I/O on a disk that is the volume, through a layer; for a while."""
    for minutes in (0, 6):
        tell(
            organisation,
            *disk("node-1", "sdb"),
            *disk("node-1", "dm-3", layer="lvm", parent="sdb", volume=volume),
            *disk("node-1", "sda"), number("node-1", "sdb", 16), number("node-1", "sda", 0),
            cgroup("node-1", POD, "8:16"), cgroup("node-1", POD, "8:0"), minutes=minutes,
        )  # fmt: skip


def lies() -> dict[str, str | None]:
    return {
        str(one): one.resource.name if one.resource else None for one in ClusterClaim.objects.all()
    }


def test_claim_lies_on_the_disk_below_its_device_and_is_its_pods(acme: Organisation) -> None:
    cluster(acme)

    sends(acme)

    workload = Workload.objects.get(name="shop/db-0")
    assert lies() == {"shop/data-db-0": "node-1/sdb"}
    (of_pod,) = claims_of(workload, pods_of(workload)).rows
    (on_disk,) = claims_on(Resource.objects.get(name="node-1/sdb")).rows
    assert str(of_pod) == str(on_disk) == "shop/data-db-0"
    assert claims_on(Resource.objects.get(name="node-1/sda")).rows == ()


def test_labels_of_the_claim_are_tags_of_the_pod_whose_own_win(acme: Organisation) -> None:
    cluster(acme, labels={"team": "blue", "keep": "long"})

    sends(acme)

    tags = Workload.objects.get(name="shop/db-0").tags
    assert tags == ["label.keep=long", "label.team=red", "namespace=shop"]


def test_claim_that_is_mounted_nowhere_lies_nowhere(acme: Organisation) -> None:
    cluster(acme)
    ClusterClaim.objects.update(resource=None)

    sends(acme, volume="pvc-2")

    assert lies() == {"shop/data-db-0": None}


def test_volume_that_two_clusters_call_alike_is_nobodys(acme: Organisation) -> None:
    cluster(acme)
    cluster(acme, "other")

    sends(acme)

    assert set(lies().values()) == {None}


def test_claims_of_another_organisation_are_left_alone(acme: Organisation) -> None:
    other = Organisation.objects.create(slug="other", name="Other")
    cluster(other)

    sends(acme)

    assert lies() == {"shop/data-db-0": None}
    assert pods_of(Workload.objects.get(organisation=acme, kind="pod")) == []


def test_pod_that_is_gone_is_no_workloads(acme: Organisation) -> None:
    cluster(acme)
    sends(acme)

    tell(acme, *disk("node-1", "sda"), minutes=60)

    assert ClusterPod.objects.get().workload is None
