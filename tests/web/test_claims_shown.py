"""Claims on persistent volumes, on the page of their workload and of where they lie."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from advisor.models import ReadSource, Workload
from advisor.queries.claims import MOST_CLAIMS
from tests.web.claimed import claimed
from tests.web.fleet import Fleet
from tests.web.html import page_of


def test_claim_is_on_the_page_of_its_workload_and_of_its_disk(
    viewer: Client, fleet: Fleet
) -> None:
    claimed(fleet)
    workload = Workload.objects.get(name="db-orders")
    resource = fleet.resources["nfs-07"]

    of_workload = page_of(viewer.get(reverse("workload", args=[workload.pk])))
    on_disk = page_of(viewer.get(reverse("resource", args=[resource.pk])))

    assert "shop/db-0 of StatefulSet/db on node node-1, by source main" in of_workload.text(
        "#identity"
    )
    assert "shop/data-000 of class fast on nfs-07" in of_workload.text("#identity")
    said = on_disk.text("#claims")
    assert said == "shop/data-000 volume pvc-data-000, class fast, source main"


def test_of_very_many_claims_some_are_shown(viewer: Client, fleet: Fleet) -> None:
    claimed(fleet, MOST_CLAIMS + 3)

    page = page_of(viewer.get(reverse("resource", args=[fleet.resources["nfs-07"].pk])))

    assert len(page.elements("#claims li")) == MOST_CLAIMS
    assert "and 3 more" in page.all_text()


def test_pages_without_claims_say_nothing_of_them(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get(reverse("resource", args=[fleet.resources["nfs-07"].pk])))

    assert page.elements("#claims") == []


def test_claims_of_a_removed_source_are_on_no_page(viewer: Client, fleet: Fleet) -> None:
    claimed(fleet)
    ReadSource.objects.update(removed_at=fleet.now)
    workload = Workload.objects.get(name="db-orders")

    of_workload = page_of(viewer.get(reverse("workload", args=[workload.pk])))
    on_disk = page_of(viewer.get(reverse("resource", args=[fleet.resources["nfs-07"].pk])))

    assert "shop/" not in of_workload.text("#identity")
    assert on_disk.elements("#claims") == []
