"""The page of the audit chain: admins read and check it, and it tells when it was changed."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import Actor
from accounts.models import AuditEntry
from accounts.roles import Role
from accounts.services.audit import record
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


@pytest.fixture
def admin(fleet: Fleet) -> Client:
    actor = Actor(name="alice <i>", role=Role.ADMIN, address="192.0.2.7")
    for number in range(60):
        record(
            organisation=fleet.organisation, actor=actor, action="state team",
            subject=f"team {number}", now=timezone.now(), details={"members": number},
        )  # fmt: skip
    return client_of(fleet.people.owner)


def shown(page: Page) -> list[str]:
    return [row.all_text() for row in page.elements("main tbody tr")]


def test_newest_acts_come_first_and_older_ones_on_the_next_page(admin: Client) -> None:
    make_roles()
    with acting_as(DatabaseRole.WEB):
        first = page_of(admin.get(reverse("audit")))
        second = page_of(admin.get(reverse("audit"), {"page": "2"}))

    assert len(shown(first)) == 50
    assert "team 59" in shown(first)[0]
    assert "alice <i>" in shown(first)[0]
    assert "192.0.2.7" in shown(first)[0]
    assert "members: 59" in shown(first)[0]
    assert "team 9" in shown(second)[0]


def test_words_choose_by_person_act_and_subject(admin: Client) -> None:
    page = page_of(admin.get(reverse("audit"), {"q": "TEAM 59"}))

    assert len(shown(page)) == 1
    none = page_of(admin.get(reverse("audit"), {"q": "\x00nothing like it"}))
    assert "No entry has these words" in none.text("main")


def test_chain_is_checked_and_a_changed_entry_is_named(admin: Client, fleet: Fleet) -> None:
    whole = page_of(admin.get(reverse("audit"), {"check": "1"})).text("main")
    entry = AuditEntry.objects.filter(organisation=fleet.organisation, subject="team 30").get()
    AuditEntry.objects.filter(pk=entry.pk).update(subject="team 31")
    broken = page_of(admin.get(reverse("audit"), {"check": "1"})).text("main")

    assert "entries are as they were written" in whole
    assert f"The chain is broken at entry {entry.number}" in broken


def test_operators_read_no_audit(admin: Client, fleet: Fleet) -> None:
    operator = client_of(fleet.people.operator)

    assert operator.get(reverse("audit")).status_code == 403
    assert b"/settings/audit/" not in operator.get(reverse("rules")).content
    assert b"/settings/audit/" in admin.get(reverse("rules")).content
