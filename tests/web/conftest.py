"""People who look at pages, and the fleet they look at."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.web.fleet import Fleet, empty_fleet
from tests.web.scenario import noisy_neighbour

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def story(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Fleet]:
    """The noisy neighbour with an hour and a half of samples, told once for all tests of a file.

    Each test runs in a savepoint inside this transaction, so none sees what another did.
    """
    with django_db_blocker.unblock():
        told = transaction.atomic()
        told.__enter__()
        fleet = noisy_neighbour(NOW, hours=1.5)
    yield fleet
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        told.__exit__(None, None, None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """The time at which the story ends, which is what pages take for now."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return NOW


@pytest.fixture
def fleet(story: Fleet, db: None, clock: datetime) -> Fleet:
    """The noisy neighbour, as this test may change it."""
    return copy.deepcopy(story)


@pytest.fixture
def nothing_yet(db: None, clock: datetime) -> Fleet:
    """An organisation without a host, whose people's names begin with `new-`."""
    return empty_fleet(clock, prefix="new-")


def client_of(user: AbstractBaseUser) -> Client:
    """A browser in which this person is logged in."""
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def viewer(fleet: Fleet) -> Client:
    return client_of(fleet.people.viewer)


@pytest.fixture
def operator(fleet: Fleet) -> Client:
    return client_of(fleet.people.operator)


@pytest.fixture
def outsider(fleet: Fleet) -> Client:
    return client_of(fleet.people.outsider)
