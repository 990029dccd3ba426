"""The sample's organisation, as it is made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from accounts.models import Membership, Organisation, Role, Token
from accounts.models.token import Scope
from advisor.models import Allocation, Resource
from appliance.sample.fleet import (
    AGENTS_FILE,
    HOSTS,
    ORGANISATION,
    RESERVED,
    STATE_FILE,
    STORES,
    TOKEN_FILE,
    machine,
)
from appliance.sample.organisation import make_sample, sample_hosts
from config.paths import DataDir

pytestmark = pytest.mark.django_db


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path)


def token_of(data: DataDir) -> Token:
    path = data.sample / TOKEN_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    token = Token.objects.valid(path.read_text(), now=timezone.now())
    assert token is not None
    return token


def test_sample_is_an_organisation_of_its_own_that_admins_own() -> None:
    people = get_user_model().objects
    admin = people.create_superuser(username="admin", password=None)
    people.create_user(username="else", password=None)

    made, is_new = make_sample()

    assert is_new
    assert made.slug == ORGANISATION
    owners = [(row.organisation, row.user_id, row.role) for row in Membership.objects.all()]
    assert owners == [(made, admin.pk, Role.OWNER)]


def test_hosts_send_with_a_token_of_the_sample_that_nobody_else_reads(data: DataDir) -> None:
    sample_hosts(data)

    token = token_of(data)
    assert token.organisation.slug == ORGANISATION
    assert token.scope == Scope.INGEST


def test_second_start_keeps_token_and_counters(data: DataDir) -> None:
    sample_hosts(data)
    (data.sample / STATE_FILE).write_text("counters")
    first = token_of(data)

    sample_hosts(data)

    assert token_of(data) == first
    assert (data.sample / STATE_FILE).exists()


def test_sample_that_was_removed_begins_anew(data: DataDir) -> None:
    sample_hosts(data)
    (data.sample / STATE_FILE).write_text("counters")
    Organisation.objects.get(slug=ORGANISATION).delete()

    sample_hosts(data)

    assert token_of(data).organisation.slug == ORGANISATION
    assert not (data.sample / STATE_FILE).exists()


def test_token_that_was_revoked_is_replaced(data: DataDir) -> None:
    sample_hosts(data)
    Token.objects.all().delete()

    sample_hosts(data)

    assert token_of(data).organisation.slug == ORGANISATION


def test_each_host_has_an_agent_whose_token_stays(data: DataDir) -> None:
    sample_hosts(data)
    path = data.sample / AGENTS_FILE
    first = json.loads(path.read_text())

    sample_hosts(data)

    assert json.loads(path.read_text()) == first
    assert path.stat().st_mode & 0o777 == 0o600
    valid = [Token.objects.valid(one["token"], now=timezone.now()) for one in first.values()]
    assert [one and (one.scope, one.host and one.host.name) for one in valid] == [
        (Scope.ENFORCE, host) for host in HOSTS
    ]


def test_agent_whose_token_was_revoked_has_a_new_one(data: DataDir) -> None:
    sample_hosts(data)
    path = data.sample / AGENTS_FILE
    first = json.loads(path.read_text())
    Token.objects.filter(scope=Scope.ENFORCE, host__name="node-03").delete()

    sample_hosts(data)

    assert json.loads(path.read_text())["node-03"] != first["node-03"]


def test_sample_of_a_former_release_is_told_as_one() -> None:
    made, _ = make_sample()
    Organisation.objects.update(is_sample=False)

    make_sample()

    assert Organisation.objects.get(pk=made.pk).is_sample


def test_people_of_the_sample_have_stated_stores_uplinks_and_promises() -> None:
    make_sample()

    kinds = list(Resource.objects.values_list("kind", flat=True))
    assert kinds.count("datastore") == len(STORES)
    assert kinds.count("uplink") == len(HOSTS)
    promised = Allocation.objects.values_list("resource__name", "workload__name", "reservation")
    assert set(promised) == {
        ("silver-01", name, float(reservation)) for name, reservation in RESERVED.items()
    }
    assert {machine(name).store for name in RESERVED} == {"silver-01"}


def test_sample_that_is_there_stays_as_it_is() -> None:
    make_sample()
    Resource.objects.filter(name="silver-01").update(threshold=12.0)

    _, is_new = make_sample()

    assert not is_new
    assert Resource.objects.get(name="silver-01").threshold == 12.0
