"""Names are text wherever rows are written: by templates and by Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.test import Client

from advisor.models import Incident, Recommendation, RecommendationState, Resource, Workload
from ingest.models import Host
from tests.web.fleet import Fleet
from tests.web.html import Element, page_of

pytestmark = pytest.mark.any_database

NAME = '<b>"&'


def with_workload(fleet: Fleet) -> None:
    """The aggressor of the incident, which has an allocation, a rate and a backtest."""
    Workload.objects.filter(name="batch-3", organisation=fleet.organisation).update(name=NAME)
    with_removed_workload(fleet)


def with_removed_workload(fleet: Fleet) -> None:
    """An incident keeps the names of its time."""
    incident = Incident.objects.get(ended_at=None)
    first, *others = incident.aggressors
    incident.aggressors = [first | {"workload": NAME}, *others]
    incident.save()


def with_host(fleet: Fleet) -> None:
    Host.objects.filter(pk=fleet.hosts["kvm-01"].pk).update(name=NAME)


def with_resource(fleet: Fleet) -> None:
    Resource.objects.filter(pk=fleet.resources["nfs-07"].pk).update(name=NAME)


def incident(fleet: Fleet) -> str:
    return f"/incidents/{Incident.objects.get(ended_at=None).pk}/"


PAGES: dict[str, tuple[Callable[[Fleet], None], Callable[[Fleet], str]]] = {
    "list of workloads": (with_workload, lambda fleet: "/workloads/"),
    "list of hosts": (with_host, lambda fleet: "/hosts/"),
    "list of storage": (with_resource, lambda fleet: "/storage/"),
    "allocation of a resource": (
        with_workload,
        lambda fleet: f"/resources/{fleet.resources['nfs-07'].pk}/",
    ),
    "backtest": (
        with_workload,
        lambda fleet: f"/resources/{fleet.resources['nfs-07'].pk}/what-if/?hours=1",
    ),
    "party with its page": (with_workload, incident),
    "party that is gone": (with_removed_workload, incident),
    "suspect": (with_workload, lambda fleet: f"{incident(fleet)}cause/"),
}


@pytest.mark.parametrize(("change", "address"), PAGES.values(), ids=PAGES)
def test_name_with_markup_heads_its_row_as_text(
    viewer: Client,
    fleet: Fleet,
    change: Callable[[Fleet], None],
    address: Callable[[Fleet], str],
) -> None:
    change(fleet)
    # What advice asked of the incident is kept for a minute.
    cache.clear()

    page = page_of(viewer.get(address(fleet)))

    heads = [one for one in page.elements("tbody th") if NAME in one.all_text()]
    assert heads != []
    assert {one.get("scope") for one in heads} == {"row"}
    assert page.elements("b") == []
    # On a phone each value has the name of its column beside it.
    rows = [one.parent for one in heads]
    cells = [cell for row in rows if row for cell in row.children if isinstance(cell, Element)]
    assert all(cell.get("data-label") for cell in cells if cell.tag == "td")


TYPED = '1"><b>&'


def test_what_was_typed_into_a_what_if_is_text(viewer: Client, fleet: Fleet) -> None:
    allocation = fleet.resources["nfs-07"].allocations.first()
    assert allocation is not None
    address = PAGES["backtest"][1](fleet)

    page = page_of(viewer.get(f"{address}&{urlencode({f'limit-{allocation.pk}': TYPED})}"))

    assert page.find("input", id=f"limit-{allocation.pk}")["value"] == TYPED
    assert page.find("input", id=f"limit-{allocation.pk}-slider")["value"] == TYPED
    assert page.elements("b") == []


def test_names_with_markup_in_a_recommendation_are_text(viewer: Client, fleet: Fleet) -> None:
    row = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    answer = json.loads(row.answer)
    for item in (*answer["allocations"], *answer["counterfactual"]["allocations"]):
        item |= {"workload": NAME, "host": NAME}
    Recommendation.objects.filter(pk=row.pk).update(answer=json.dumps(answer))

    page = page_of(viewer.get(f"/recommendations/{row.pk}/"))

    assert page.elements("b") == []
    tables = page.elements("tbody")
    # What would change, the backtest, and the inputs of the formula.
    assert sum(NAME in one.all_text() for one in tables) >= 3
    assert NAME in page.text(".bars .who")


def test_host_with_markup_in_a_row_of_the_backtest_is_text(viewer: Client, fleet: Fleet) -> None:
    with_host(fleet)

    page = page_of(viewer.get(PAGES["backtest"][1](fleet)))

    hosts = [one for one in page.elements(".past td") if one["data-label"] == "Host"]
    assert NAME in [one.all_text() for one in hosts]
    assert page.elements("b") == []
