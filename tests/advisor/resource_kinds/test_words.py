"""A disk that one host alone uses is a volume; shared it is a datastore."""

from __future__ import annotations

import json
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.decisions import inventory
from advisor.errors import InventoryError
from advisor.models import ReservationMode, Resource, Unit
from advisor.resource_kinds.registry import (
    KINDS,
    area_words,
    plural_words,
    stated_kinds,
    traits_of,
)
from tests.advisor.scenario import Cluster, make_cluster
from tests.advisor.stated_datastores import stated_datastore


@pytest.mark.parametrize(
    ("kind", "hosts", "noun"),
    [
        ("datastore", 0, "datastore"),
        ("datastore", 1, "volume"),
        ("datastore", 2, "datastore"),
        ("uplink", 1, "uplink"),
    ],
)
def test_noun_follows_from_the_number_of_hosts(kind: str, hosts: int, noun: str) -> None:
    assert traits_of(kind).words.of(hosts) == noun


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [("datastore", 30.0, "30.0 ms"), ("datastore", 6.666, "6.67 ms"), ("uplink", 0.9, "90%")],
)
def test_level_is_written_as_its_kind_does(kind: str, value: float, text: str) -> None:
    assert traits_of(kind).level.text(value) == text


@pytest.mark.parametrize(
    ("kind", "capacity", "floor"),
    [
        ("datastore", None, 10.0),
        ("datastore", 5000.0, 10.0),
        ("uplink", None, 1e6),
        # 1 % of 10 Gbit/s.
        ("uplink", 1e10, 1e8),
    ],
)
def test_below_its_activity_floor_a_kind_is_idle(
    kind: str, capacity: float | None, floor: float
) -> None:
    assert traits_of(kind).activity_floor(capacity) == pytest.approx(floor)


def test_kinds_are_told_apart_by_name_and_words() -> None:
    words = [word for kind in KINDS for word in (kind.name, kind.words.alone) if word]

    assert len(words) == len(set(words)) == len(stated_kinds())
    assert plural_words() == "datastores and uplinks"
    assert area_words() == "Storage and network"


def test_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match='no kind "tape"; there are: datastore, uplink'):
        traits_of("tape")


@pytest.fixture
def cluster(db: None) -> Cluster:
    return make_cluster()


def rows(*words: str) -> Any:
    out = StringIO()
    with suppress(SystemExit):
        call_command(*words, "--organisation", "acme", "--json", stdout=out)
    found = json.loads(out.getvalue())
    return found["resources"] if words == ("status",) else found


@pytest.mark.parametrize("command", ["resource", "status"])
def test_commands_tell_a_volume_from_a_datastore(cluster: Cluster, command: str) -> None:
    stated_datastore(cluster.organisation, "sda", "h1")
    stated_datastore(cluster.organisation, "nfs", "h1", "h2")

    kinds = {row.get("name", row.get("resource")): row["kind"] for row in rows(command)}

    assert kinds == {"h1/up0": "uplink", "sda": "volume", "nfs": "datastore"}


def test_two_disks_of_one_host_are_a_volume(cluster: Cluster) -> None:
    mirror = inventory.add_resource(
        organisation=cluster.organisation,
        name="mirror",
        kind="datastore",
        attachments=[("h1", "sda"), ("h1", "sdb")],
    )

    assert mirror.noun == "volume"


def test_pages_tell_a_volume_from_a_datastore(cluster: Cluster) -> None:
    volume = stated_datastore(cluster.organisation, "sda", "h1")
    shared = stated_datastore(cluster.organisation, "nfs", "h1", "h2")
    client = Client()
    client.force_login(cluster.people.viewer)

    def page(path: str, **query: str) -> str:
        return client.get(path, query).content.decode()

    assert "Volume on" in page(f"/resources/{volume.pk}/")
    assert "Datastore on" in page(f"/resources/{shared.pk}/")
    assert 'data-label="Kind">volume' in page("/search/", q="sda")
    host = page(f"/hosts/{volume.attachments.get().host_id}/")
    assert "Storage and network" in host
    assert 'data-label="Kind">volume' in host
    assert 'data-label="Kind">datastore' in host


def test_volume_may_be_stated_as_such(cluster: Cluster) -> None:
    (row,) = rows("resource", "add", "sda", "--kind", "volume", "--at", "h1:sda")

    assert row["kind"] == "volume"
    assert Resource.objects.get(name="sda").kind == "datastore"


@pytest.mark.parametrize(
    ("kind", "more", "complaint"),
    [
        ("volume", {}, "one host alone uses a volume; of several hosts it is a datastore"),
        ("uplink", {}, "an uplink is one interface of one host"),
        ("tape", {}, 'there is no kind "tape"; there are: datastore, uplink, volume'),
        (
            "datastore",
            {"unit": Unit.BITS_PER_S},
            "rates of datastores are counted in iops or bytes_per_s",
        ),
    ],
    ids=["volume of two hosts", "uplink of two hosts", "unknown kind", "unit of another kind"],
)
def test_what_the_kind_does_not_have_is_refused(
    cluster: Cluster, kind: str, more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InventoryError, match=complaint):
        inventory.add_resource(
            organisation=cluster.organisation,
            name="x",
            kind=kind,
            attachments=[("h1", "x"), ("h2", "x")],
            **more,
        )

    assert not Resource.objects.filter(name="x").exists()


def test_every_mode_of_a_kind_may_be_stated(cluster: Cluster) -> None:
    made = stated_datastore(cluster.organisation, "nfs", "h1", "h2", mode=ReservationMode.ADDITIVE)

    assert made.mode == ReservationMode.ADDITIVE


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"lun_queue_depth": 64}, "h1/up0: uplinks have no lun queue depth"),
        ({"disks": "shelf-1"}, "h1/up0: uplinks have no disks"),
    ],
)
def test_facts_of_another_kind_are_refused(
    cluster: Cluster, facts: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InventoryError, match=complaint):
        inventory.change_resource(resource=cluster.uplink, facts=facts)


def test_uplink_learns_no_threshold_from_latency(cluster: Cluster) -> None:
    with pytest.raises(InventoryError, match="the threshold mode may be fixed or baseline"):
        inventory.change_resource(resource=cluster.uplink, threshold_mode="peak_throughput")

    inventory.change_resource(resource=cluster.uplink, threshold_mode="baseline")
    assert Resource.objects.get(pk=cluster.uplink.pk).threshold_mode == "baseline"


def test_uplink_has_no_queue_depth_per_host(cluster: Cluster) -> None:
    with pytest.raises(InventoryError, match="uplinks have no queue depth"):
        inventory.set_queue_depth(resource=cluster.uplink, host_name="h1", depth=32)
