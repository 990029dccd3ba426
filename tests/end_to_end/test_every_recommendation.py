"""From samples on the wire to each kind of recommendation, by command and on its page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from accounts.models import Membership, Organisation, Role, Scope, Token
from advisor.advice.registry import variants
from tests.end_to_end.journeys import JOURNEYS, Journey
from tests.web.html import page_of

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WHY = ("summary", "alternatives", "confidence", "reversibility", "model_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An organisation with a token for samples and a person in front of pages."""

    token: str
    browser: Client

    def post(self, lines: Iterator[str]) -> None:
        answer = Client().post(
            "/api/v2/write",
            "\n".join(lines),
            content_type="text/plain",
            headers={"Authorization": f"Token {self.token}"},
        )
        assert answer.status_code == 204, answer.content

    def look(self) -> None:
        for command in ("detect", "recommend", "advise"):
            sluice(command)

    def follow(self, journey: Journey, *, helped: bool) -> None:
        """Samples, facts, and one look of the service."""
        self.post(journey.lines(NOW, helped))
        for command in journey.commands(helped):
            sluice(command)
        self.look()
        if journey.approve_first:
            (first,) = json.loads(sluice("recommendations --state proposed --kind shares --json"))
            sluice(f"approve {first['id']} --user admin")
            self.look()


def sluice(words: str) -> str:
    out = StringIO()
    call_command(*words.split(), stdout=out)
    return out.getvalue()


def listed(kind: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(sluice(f"recommendations --kind {kind} --json"))
    return rows


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + timedelta(seconds=2))
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    user = get_user_model().objects.create_user("admin")
    Membership.objects.create(organisation=organisation, user=user, role=Role.ADMIN)
    _, token = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="telegraf")
    browser = Client()
    browser.force_login(user)
    return Site(token=token, browser=browser)


@pytest.fixture(params=JOURNEYS, ids=lambda journey: journey.name)
def journey(request: pytest.FixtureRequest) -> Journey:
    found: Journey = request.param
    return found


def test_samples_lead_to_the_recommendation(site: Site, journey: Journey) -> None:
    site.follow(journey, helped=True)

    (row,) = [one for one in listed(journey.kind) if one["resource"] == journey.resource]
    text = sluice(f"recommendations {row['id']}")
    whole = json.loads(sluice(f"recommendations {row['id']} --recompute --json"))
    page = page_of(site.browser.get(f"/recommendations/{row['id']}/"))
    # The command and the page say the same, with what was weighed and what to do.
    assert page.text("h1") == row["summary"]
    assert str(row["summary"]) in text
    assert journey.said in text
    assert journey.said in page.all_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Alternatives considered" in text
    assert "Alternatives considered" in page.all_text()
    assert f"sluice approve {row['id']} --user NAME" in text
    # A rate that is not sure is a suspicion, without a bar.
    assert page.elements(".bars .after") or "suspected" in page.all_text()
    # Everything behind it is stored, and gives the same bytes again.
    assert all(whole["answer"][part] for part in WHY)
    assert whole["answer"].get("formula") or whole["answer"]["evidence"]["formula"]
    assert whole["inputs"]
    assert whole["recomputed_same_bytes"] is True


def test_its_twin_gets_a_reason_instead(site: Site, journey: Journey) -> None:
    site.follow(journey, helped=False)

    assert [one for one in listed(journey.kind) if one["resource"] == journey.resource] == []
    said = sluice(f"recommend {journey.resource}") + sluice(f"advise {journey.resource}")
    assert journey.gap is None or journey.gap in said


def test_every_kind_has_a_journey() -> None:
    # A draft is made by a person, not from samples.
    assert {one.name for one in variants()} - {one.kind for one in JOURNEYS} == {"what_if"}
