"""Who is in no organisation opens one, where the installation lets them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.errors import AccountsError
from accounts.models import Membership, Organisation, Role
from accounts.models.audit import AuditEntry
from accounts.services.organisation import LONGEST_NAME, open_organisation
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import PASSWORD

pytestmark = pytest.mark.django_db

NEW = "/organisation/new/"
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def person(settings: Any) -> User:
    settings.NEW_ORGANISATIONS_OPEN = True
    return User.objects.create_user("mallory", password=PASSWORD)


@pytest.fixture
def tab(person: User) -> Iterator[Client]:
    """The person's browser, at a server that has a web server's rights and walls."""
    make_roles()
    client = client_of(person)
    with acting_as(DatabaseRole.WEB):
        yield client


def test_who_opens_one_owns_it_and_looks_at_it(tab: Client, person: User) -> None:
    page = tab.get("/")
    assert page.status_code == 403
    assert b"Name of the organisation" in page.content

    answer = tab.post(NEW, {"name": " Northgate Cloud "}, follow=True)

    assert answer.status_code == 200
    assert "You are the owner of Northgate Cloud." in answer.content.decode()
    (membership,) = Membership.objects.filter(user=person)
    assert (membership.role, membership.organisation.slug) == (Role.OWNER, "northgate-cloud")
    (entry,) = AuditEntry.objects.filter(organisation=membership.organisation)
    assert (entry.actor, entry.action, entry.address) == (
        "mallory", "open organisation", "127.0.0.1",
    )  # fmt: skip


def test_form_that_is_sent_twice_opens_one(tab: Client, person: User) -> None:
    tab.post(NEW, {"name": "Northgate"})

    again = tab.post(NEW, {"name": "Northgate"}, follow=True)

    assert "Nothing was made: you are in an organisation already" in again.content.decode()
    assert Membership.objects.filter(user=person).count() == 1


def test_nobody_gets_into_the_organisation_of_others_by_its_name(
    tab: Client, person: User
) -> None:
    other = Organisation.objects.create(slug="northgate", name="Northgate")

    tab.post(NEW, {"name": "Northgate"})

    opened = Membership.objects.get(user=person).organisation
    assert (opened.pk != other.pk, opened.slug) == (True, "northgate-2")


@pytest.mark.parametrize("name", ["", "  ", "x" * (LONGEST_NAME + 1), "a\x00b", "a\u202eb"])
def test_name_that_is_none_is_refused(tab: Client, name: str) -> None:
    answer = tab.post(NEW, {"name": name}, follow=True)

    assert f"Nothing was made: a name has 1 to {LONGEST_NAME} letters" in answer.content.decode()
    assert not Organisation.objects.exists()


def test_it_is_off_unless_switched_on(settings: Any, person: User) -> None:
    settings.NEW_ORGANISATIONS_OPEN = False
    client = client_of(person)

    page, answer = client.get("/"), client.post(NEW, {"name": "Northgate"}, follow=True)

    assert b"Name of the organisation" not in page.content
    assert "here nobody opens an organisation by themselves" in answer.content.decode()
    assert not Organisation.objects.exists()


def test_who_is_not_logged_in_goes_to_the_login(settings: Any) -> None:
    settings.NEW_ORGANISATIONS_OPEN = True

    answer = Client().post(NEW, {"name": "Northgate"})

    assert (answer.status_code, answer.headers["Location"]) == (
        302, f"{reverse('login')}?next={NEW}",
    )  # fmt: skip


class TestAnyName(TestCase):
    @given(name=st.text(max_size=90))
    @settings(max_examples=60)
    def test_has_a_short_name_of_its_own_or_is_refused(self, name: str) -> None:
        user = User.objects.create_user(f"person-{User.objects.count()}")
        try:
            made = open_organisation(name=name, user=user, now=NOW)
        except AccountsError:
            assert not name.strip() or not name.strip().isprintable() or len(name) > LONGEST_NAME
        else:
            made.full_clean()
