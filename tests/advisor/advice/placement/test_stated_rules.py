"""Rules that people write about where disks may lie, as advice on placement takes them."""

from __future__ import annotations

import pytest

from advisor.advice.placement.decide.disk_inputs import PlacementRules
from advisor.advice.placement.stated_rules import stated_rules
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.decisions.found.rules import set_rules
from advisor.decisions.inventory import add_resource, set_allocation
from advisor.models import AdapterKind, Allocation
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

DISKS = {"db-1": ("a", "b"), "db-2": ("a",), "ns/web": ("a", "b")}


@pytest.fixture
def cluster() -> Cluster:
    cluster = make_cluster()
    store = add_resource(
        organisation=cluster.organisation,
        name="nfs",
        kind="datastore",
        attachments=[("h1", "sdz")],
    )
    for workload, disks in DISKS.items():
        for name in disks:
            set_allocation(
                resource=store, workload_name=workload, host_name="h1", vdisk=name,
                adapter_kind=AdapterKind.CGROUP, adapter=f"/{workload}/{name}",
            )  # fmt: skip
    return cluster


def rules(cluster: Cluster, text: str) -> PlacementRules:
    set_rules(cluster.organisation, text, now=NOW)
    rows = list(
        Allocation.objects.filter(resource__name="nfs")
        .select_related("workload", "host", "resource")
        .order_by("pk")
    )
    return stated_rules(cluster.organisation, rows, vdisk_names(rows))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", PlacementRules()),
        ("keep-together: DB-1", PlacementRules(vdisks_together=(("db-1:a", "db-1:b"),))),
        ("keep-apart: db-1", PlacementRules(vdisks_apart=(("db-1:a", "db-1:b"),))),
        (
            "keep-apart: db-1/b ns/web/a",
            PlacementRules(vdisks_apart=(("db-1:b", "ns/web:a"),)),
        ),
        ("keep-apart: db-1 ns/web", PlacementRules(workloads_apart=(("db-1", "ns/web"),))),
        # One that is gone leaves nothing to keep apart.
        ("keep-apart: db-1 gone", PlacementRules()),
        ("keep-together: db-1/a gone/b", PlacementRules()),
    ],
    ids=["none", "whole", "its disks", "disks", "workloads", "gone", "gone disk"],
)
def test_rules_are_of_the_disks_that_are_there(
    cluster: Cluster, text: str, meant: PlacementRules
) -> None:
    assert rules(cluster, text) == meant
