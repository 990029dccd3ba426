"""The layer that answers writes says what Django would say, and stores what Django would store."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.http import HttpResponse
from django.test import Client

from accounts.models import Organisation, Scope
from ingest.models import DiskioSample, RejectedLine, Series
from ingest.write_queue import CommitLostError, QueueFullError
from ingest.writer import Writer
from tests.ingest.layered_client import LayeredClient
from tests.ingest.scenario import Tenant, disk_line, make_tenant, nanoseconds, now, post

AUTHORIZATIONS = ["", "Token", "Token ", "Token wrong", "Basic eDp5", "Bearer slu_wrong"]


@pytest.fixture
def layered() -> LayeredClient:
    return LayeredClient()


Both = Callable[..., tuple[HttpResponse, HttpResponse]]


@pytest.fixture
def both(client: Client, layered: LayeredClient, tenant: Tenant, stranger: Tenant) -> Both:
    """Sends a body both ways, for two organisations, and sees that both have the same rows."""

    def send(body: str, **how: Any) -> tuple[HttpResponse, HttpResponse]:
        answers = (
            post(client, body, secret=tenant.secret, **how),
            post(layered, body, secret=stranger.secret, **how),
        )
        columns = ("time", "reads", "writes")
        assert layered.layer.handed_on == 0
        assert of(stranger, DiskioSample, *columns) == of(tenant, DiskioSample, *columns)
        return answers

    return send


@pytest.mark.parametrize(
    ("body", "query"),
    [
        pytest.param(disk_line(now()), {}, id="good"),
        pytest.param(f"{disk_line(now())}\nbad\n#c\n", {}, id="partly bad"),
        pytest.param("\n\nbad\ndiskio,name=sda reads=1i", {}, id="wholly bad"),
        pytest.param("weather,host=h1 rain=1\ntides,host=h1 level=1i", {}, id="unknown"),
        pytest.param("cpu,host=h1,cpu=cpu0 usage_idle=1", {}, id="left out"),
        pytest.param("diskio,host=h1,name=sda reads=1i 5", {"precision": "x"}, id="precision"),
        pytest.param(
            f"diskio,host=h1,name=sda reads=1i {nanoseconds(now()) // 10**9}",
            {"precision": "s"},
            id="seconds",
        ),
        pytest.param("", {}, id="empty"),
        pytest.param("\n \n", {}, id="blank"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_layer_answers_as_django_does(
    both: Both, body: str, query: dict[str, str], packed: bool
) -> None:
    # Its heads are known the second time.
    for _ in range(2):
        expected, answer = both(body, packed=packed, **query)

        assert answer.status_code == expected.status_code
        assert answer.content == expected.content
        assert answer.get("Sluice-Rejected-Lines") == expected.get("Sluice-Rejected-Lines")


def test_series_without_room_are_refused_as_by_django(both: Both) -> None:
    Organisation.objects.update(quota_series=1)
    both(disk_line(now()))
    lines = f"{disk_line(now() + timedelta(seconds=1))}\n{disk_line(now(), name='sdb')}"

    for _ in range(2):
        expected, answer = both(lines)

        assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "1")
        assert answer.content == expected.content
    assert set(Series.objects.values_list("subject", flat=True)) == {"sda"}


def test_quota_that_was_raised_holds_at_once_though_the_token_is_remembered(
    layered: LayeredClient, tenant: Tenant
) -> None:
    Organisation.objects.update(quota_hosts=1)
    assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 204
    other = disk_line(now(), host="h2")
    assert post(layered, other, secret=tenant.secret).status_code == 429

    Organisation.objects.update(quota_hosts=2)

    assert post(layered, other, secret=tenant.secret).status_code == 204
    assert of(tenant, DiskioSample, "series__host__name") == [("h1",), ("h2",)]


def of(tenant: Tenant, model: Any, *columns: str) -> list[Sequence[object]]:
    rows = model.objects.filter(series__organisation=tenant.organisation)
    return sorted(rows.values_list(*columns))


@pytest.mark.parametrize("authorization", AUTHORIZATIONS)
def test_nothing_of_a_wrong_token_is_read(
    layered: LayeredClient, db: None, authorization: str
) -> None:
    answer = layered.post(
        "/api/v2/write",
        gzip.compress(disk_line(now()).encode())[:-4],
        content_type="text/plain",
        headers={"Authorization": authorization, "Content-Encoding": "gzip"},
    )

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert not Series.objects.exists()


def test_token_of_another_scope_is_forbidden(layered: LayeredClient, db: None) -> None:
    tenant = make_tenant(scope=Scope.ENFORCE)

    assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 403
    assert not Series.objects.exists()


def test_token_that_expires_is_refused_though_it_is_remembered(
    layered: LayeredClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant.token.expires_at = now() + timedelta(seconds=60)
    tenant.token.save()
    assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 204

    monkeypatch.setattr("ingest.write_app.timezone.now", lambda: now() + timedelta(seconds=61))

    assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 401


def test_transaction_around_a_request_keeps_its_connection_however_old_it_is(
    layered: LayeredClient, tenant: Tenant
) -> None:
    whole = connections["default"]
    ends_at = whole.close_at
    whole.close_at = 0.0
    try:
        assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 204
    finally:
        whole.close_at = ends_at


def test_other_requests_are_handed_on(layered: LayeredClient, db: None) -> None:
    assert layered.get("/api/v2/write").status_code == 405
    assert layered.get("/ping").status_code == 204
    assert layered.post("/api/v2/nothing").status_code == 404
    assert layered.layer.handed_on == 3


def test_wrong_address_keeps_the_samples(
    layered: LayeredClient, tenant: Tenant, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["sluice.example.com"]

    layered.defaults["HTTP_HOST"] = "10.0.0.5:8000"

    assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 403
    assert not Series.objects.exists()


@pytest.mark.parametrize("error", [QueueFullError, CommitLostError])
def test_what_was_not_committed_is_503(
    layered: LayeredClient,
    tenant: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error("not stored")

    monkeypatch.setattr(Writer, "store_alone", fail)

    answer = post(layered, disk_line(now()), secret=tenant.secret)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Retry-After"].isdigit()


def test_database_that_ends_the_connection_loses_nothing(
    layered: LayeredClient, committed: None
) -> None:
    tenant = make_tenant()
    assert post(layered, disk_line(now()), secret=tenant.secret).status_code == 204
    end_connection()

    later = disk_line(now() + timedelta(seconds=1))
    answers = [post(layered, later, secret=tenant.secret).status_code for _ in range(2)]

    # The token is remembered, so the database is asked only for the commit, and that is repeated.
    assert answers == [204, 204]
    assert DiskioSample.objects.count() == 2


def end_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    other.close()


def test_body_that_is_sent_again_changes_nothing(layered: LayeredClient, tenant: Tenant) -> None:
    body = f"{disk_line(now())}\n{disk_line(now(), name='sdb')}\nbad"
    assert post(layered, body, secret=tenant.secret).status_code == 204
    stored = of(tenant, DiskioSample, "time", "reads", "writes")

    assert post(layered, body, secret=tenant.secret).status_code == 204

    assert of(tenant, DiskioSample, "time", "reads", "writes") == stored
    assert len(stored) == 2
    assert RejectedLine.objects.count() == 2


def test_samples_of_other_protocols_are_handed_on_with_their_organisation(
    layered: LayeredClient, tenant: Tenant
) -> None:
    how = {"authorization": f"Token {tenant.secret}"}

    layered.post("/write", disk_line(now()), content_type="text/plain", headers=how)

    assert layered.layer.owner == tenant.organisation.pk
