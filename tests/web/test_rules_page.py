"""The page of rules: what holds, what a wrong text says, and who may change it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from advisor.decisions.found.rules import stated_rules
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

TEXT = "tier: high where name ~ db-*\ntier: low where kind = container"


def test_operator_sets_rules_and_they_are_shown(fleet: Fleet, viewer: Client) -> None:
    operator = client_of(fleet.people.operator)
    make_roles()

    with acting_as(DatabaseRole.WEB):
        answer = operator.post(reverse("set-rules"), {"text": TEXT.replace("\n", "\r\n")})

    assert answer["Location"] == reverse("rules")
    assert stated_rules(fleet.organisation) == TEXT
    assert AuditEntry.objects.order_by("-number")[0].action == "state rules"
    page = page_of(viewer.get(reverse("rules")))
    assert "tier: high where name ~ db-*" in page.text("main pre")
    assert page.elements("main form") == []
    assert page_of(operator.get(reverse("rules"))).text("main textarea") == TEXT.replace("\n", " ")


def test_wrong_rules_change_nothing_and_stay_in_the_form(fleet: Fleet) -> None:
    operator = client_of(fleet.people.operator)
    operator.post(reverse("set-rules"), {"text": TEXT})

    wrong = "tier: platinum where name = a\n<b>nonsense</b>"
    page = page_of(operator.post(reverse("set-rules"), {"text": wrong}), status=400)

    said = page.text("#rules-error")
    assert "Nothing was changed" in said
    assert "platinum" in said
    assert "nonsense" in said
    assert "platinum" in page.text("main textarea")
    assert stated_rules(fleet.organisation) == TEXT


@pytest.mark.parametrize(("name", "kind"), [("viewer", 403), ("operator", 302)])
def test_operators_and_no_viewers_set_rules(fleet: Fleet, name: str, kind: int) -> None:
    client = client_of(getattr(fleet.people, name))

    assert client.post(reverse("set-rules"), {"text": ""}).status_code == kind


def test_tiers_are_counted_by_where_they_are_from(fleet: Fleet, viewer: Client) -> None:
    rows = page_of(viewer.get(reverse("rules"))).elements("main tbody tr")

    counted = [
        [cell.all_text() for cell in row.walk() if cell.tag in ("th", "td")] for row in rows
    ]
    shown = {tier: [int(one) for one in counts] for tier, *counts in counted}
    assert list(shown) == ["high", "medium", "low"]
    assert all(total == sum(parts) for total, *parts in shown.values())
    living = fleet.organisation.workloads.filter(vanished_at=None)
    assert {tier: total for tier, (total, *_) in shown.items()} == {
        tier: living.filter(tier=tier).count() for tier in shown
    }
