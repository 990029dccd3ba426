"""A new kind of advice is one folder and one line: pages, commands and documents have it then.

The folder is tests/advisor/advice/spare_reservation, the line is in `with_new_kind`.
"""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.advice import registry
from advisor.advice.advise import advise
from advisor.decisions.decide import approve
from advisor.models import Recommendation, RecommendationState
from tests.advisor.advice.spare_reservation.kind import SPARE_RESERVATION
from tests.web.fleet import Fleet
from tests.web.html import page_of

# 75 % of 5200 IOPS may be reserved, and 1500 and 600 are: 3900 - 2100
SUMMARY = "Reserve up to 1800 IOPS more on nfs-07"


@pytest.fixture(autouse=True)
def with_new_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", (*registry.KINDS, SPARE_RESERVATION))


@pytest.fixture
def advice(fleet: Fleet) -> Recommendation:
    advise(resource=fleet.resources["nfs-07"], now=fleet.now)
    return Recommendation.objects.get(topic="spare_reservation")


def sluice(fleet: Fleet, *words: str) -> str:
    out = StringIO()
    call_command(*words, f"--organisation={fleet.organisation.slug}", stdout=out)
    return out.getvalue()


def test_scheduler_looks_for_it_and_keeps_one_open(fleet: Fleet, advice: Recommendation) -> None:
    advise(resource=fleet.resources["nfs-07"], now=fleet.now)

    assert Recommendation.objects.get(topic="spare_reservation") == advice
    assert (advice.summary, advice.kind) == (SUMMARY, "spare_reservation")


def test_its_page_shows_table_facts_and_what_approving_does(
    operator: Client, advice: Recommendation
) -> None:
    page = page_of(operator.get(f"/recommendations/{advice.pk}/"))

    assert page.text("h1") == SUMMARY
    assert page.row(".chart-table", "nfs-07") == ["1800 IOPS"]
    assert "3900 IOPS" in page.all_text()
    assert "Sluice states none." in page.text("#approve-dialog")


def test_lists_and_resource_call_it_by_its_words(
    fleet: Fleet, operator: Client, advice: Recommendation
) -> None:
    listed = page_of(operator.get("/recommendations/", {"kind": "spare_reservation"}))
    resource = page_of(operator.get(f"/resources/{fleet.resources['nfs-07'].pk}/"))

    assert f"/recommendations/{advice.pk}/" in listed.links().values()
    assert "free reservations" in listed.text("tbody")
    assert "Recommendation, free reservations:" in [
        one.all_text() for one in resource.elements(".notice-call strong")
    ]


def test_commands_find_explain_and_recompute_it(fleet: Fleet, advice: Recommendation) -> None:
    found = sluice(fleet, "recommendations", "--kind", "spare_reservation")
    explained = sluice(fleet, "recommendations", str(advice.pk), "--recompute")
    looked = sluice(fleet, "advise", "nfs-07")

    assert SUMMARY in found
    assert "spare = what may be reserved - what is reserved" in explained
    assert "Recomputed from its stored inputs: identical" in explained
    assert "spare_reservation" in looked


def test_approval_is_noted(fleet: Fleet, advice: Recommendation) -> None:
    policy = approve(recommendation=advice, user=fleet.people.operator, now=fleet.now)

    advice.refresh_from_db()
    assert policy is None
    assert advice.state == RecommendationState.APPROVED


def test_table_of_the_documents_has_its_row() -> None:
    assert (
        "| [spare_reservation](../advisor/advice/spare_reservation/README.md) | none "
        "| a capacity | is noted: a person states reservations |"
    ) in registry.kinds_table().splitlines()


def test_recommendation_of_a_kind_that_is_gone_is_still_listed_and_shown(
    fleet: Fleet, operator: Client, advice: Recommendation, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tuple(kind for kind in registry.KINDS if kind is not SPARE_RESERVATION)
    monkeypatch.setattr(registry, "KINDS", kept)

    listed = page_of(operator.get("/recommendations/"))
    page = page_of(operator.get(f"/recommendations/{advice.pk}/"))
    said = sluice(fleet, "recommendations", str(advice.pk))

    assert "spare_reservation" in listed.text("tbody")
    assert "stored by another version of Sluice" in page.all_text()
    assert said.startswith(SUMMARY)
