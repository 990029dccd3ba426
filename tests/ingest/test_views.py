"""The InfluxDB v2 endpoints: answers, and what is stored behind them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, close_old_connections, connection
from django.test import Client, RequestFactory

from accounts.models import Scope, Token
from ingest import views
from ingest.models import DiskioSample, Series
from tests.ingest.scenario import Tenant, disk_line, make_tenant, nanoseconds, now, post


def test_write_answers_204_and_has_stored(client: Client, tenant: Tenant) -> None:
    answer = post(client, disk_line(now(), count=4), secret=tenant.secret, packed=True)

    assert (answer.status_code, answer.content) == (204, b"")
    assert DiskioSample.objects.get().reads == 4


@pytest.mark.parametrize("scheme", ["Token", "Bearer", "bearer"])
def test_both_schemes_of_authorization_are_taken(
    client: Client, tenant: Tenant, scheme: str
) -> None:
    answer = client.post(
        "/api/v2/write",
        disk_line(now()),
        content_type="text/plain",
        headers={"Authorization": f"{scheme} {tenant.secret}"},
    )

    assert answer.status_code == 204


@pytest.mark.parametrize(
    ("precision", "divisor"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)]
)
def test_precision_is_that_of_the_query(
    client: Client, tenant: Tenant, precision: str, divisor: int
) -> None:
    at = now()
    line = f"diskio,host=h1,name=sda reads=1i {nanoseconds(at) // divisor}"

    answer = post(client, line, secret=tenant.secret, precision=precision)

    assert answer.status_code == 204
    assert DiskioSample.objects.get().time == at


def test_partly_bad_body_is_taken_and_says_how_many_were_not(
    client: Client, tenant: Tenant
) -> None:
    answer = post(client, f"{disk_line(now())}\nbad\nworse", secret=tenant.secret)

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "2")
    assert DiskioSample.objects.count() == 1


def test_wholly_bad_body_is_refused_with_lines_and_reasons(client: Client, tenant: Tenant) -> None:
    answer = post(client, "\n\nbad\ndiskio,name=sda reads=1i", secret=tenant.secret)

    assert answer.status_code == 400
    assert answer.json() == {
        "code": "invalid",
        "message": "no line could be stored: "
        "line 3: expected a space and a field, found the end of the line; "
        'line 4: tag "host" is missing: it says which host the sample is of',
    }


def test_body_of_unknown_measurements_is_no_mistake(client: Client, tenant: Tenant) -> None:
    answer = post(client, "weather,host=h1 rain=1\ntides,host=h1 level=1i", secret=tenant.secret)

    assert (answer.status_code, answer["Sluice-Rejected-Lines"]) == (204, "2")


def _revoked(token: Token) -> None:
    token.revoked_at = now() - timedelta(seconds=1)


def _expired(token: Token) -> None:
    token.expires_at = now() - timedelta(seconds=1)


def _expiring(token: Token) -> None:
    token.expires_at = now() + timedelta(hours=1)


def _of_another_scope(token: Token) -> None:
    token.scope = Scope.ENFORCE


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (_expiring, 204, None),
        (_revoked, 401, "unauthorized"),
        (_expired, 401, "unauthorized"),
        (_of_another_scope, 403, "forbidden"),
    ],
)
def test_token_must_be_valid_and_of_the_scope(
    client: Client, tenant: Tenant, change: Any, status: int, code: str | None
) -> None:
    change(tenant.token)
    tenant.token.save()

    answer = post(client, disk_line(now()), secret=tenant.secret)

    assert answer.status_code == status
    assert (answer.json()["code"] if code else None) == code
    assert Series.objects.exists() == (status == 204)


@pytest.mark.parametrize(
    "authorization", ["", "Token", "Token ", "Token wrong", "Basic eDp5", "Bearer slu_wrong"]
)
def test_wrong_token_is_401_and_stores_nothing(
    client: Client, tenant: Tenant, authorization: str
) -> None:
    answer = client.post(
        "/api/v2/write",
        disk_line(now()),
        content_type="text/plain",
        headers={"Authorization": authorization} if authorization else {},
    )

    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert not Series.objects.exists()


def test_use_of_a_token_is_noted_once_a_minute(
    client: Client, tenant: Tenant, django_assert_num_queries: Any
) -> None:
    post(client, disk_line(now()), secret=tenant.secret)
    tenant.token.refresh_from_db()
    first = tenant.token.last_used_at
    assert first is not None

    post(client, disk_line(now(), count=2), secret=tenant.secret)

    tenant.token.refresh_from_db()
    assert tenant.token.last_used_at == first


def test_body_above_the_limit_is_413(client: Client, tenant: Tenant, settings: Any) -> None:
    settings.MAX_BODY_BYTES = 10_000
    lines = [disk_line(now() - timedelta(seconds=s)) for s in range(100)]

    whole = post(client, "\n".join(lines), secret=tenant.secret, packed=True)
    part = post(client, "\n".join(lines[:50]), secret=tenant.secret, packed=True)

    assert (whole.status_code, whole.json()["code"]) == (413, "request too large")
    assert part.status_code == 204
    assert DiskioSample.objects.count() == 50


def test_body_with_too_many_lines_is_413(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_LINES", 3)

    answer = post(client, "bad\n" * 4, secret=tenant.secret)

    assert answer.status_code == 413


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_absent_database_is_503_with_seconds_to_wait(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error("the server closed the connection")

    monkeypatch.setattr(views, "store", fail)

    answer = post(client, disk_line(now()), secret=tenant.secret)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer["Retry-After"].isdigit()


def test_database_that_ends_the_connection_is_503_and_then_204(
    client: Client, committed: None
) -> None:
    tenant = make_tenant()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    other.close()

    cut_off = post(client, disk_line(now()), secret=tenant.secret)
    close_old_connections()  # Django does so between requests, its test client does not.
    again = post(client, disk_line(now()), secret=tenant.secret)

    assert (cut_off.status_code, again.status_code) == (503, 204)
    assert DiskioSample.objects.count() == 1


def test_chunked_body_that_the_server_hides_is_never_taken_for_empty(tenant: Tenant) -> None:
    # What Django makes of a chunked request without ingest.chunked_body.
    request = RequestFactory().post(
        "/api/v2/write",
        b"",
        content_type="text/plain",
        headers={"Authorization": f"Token {tenant.secret}", "Transfer-Encoding": "chunked"},
    )

    answer = views.write(request)

    assert (answer.status_code, answer["Retry-After"]) == (503, "10")


def test_wrong_address_keeps_the_samples(client: Client, tenant: Tenant, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["sluice.example.com"]

    client.defaults["HTTP_HOST"] = "10.0.0.5:8000"
    refused = post(client, disk_line(now()), secret=tenant.secret)
    client.defaults["HTTP_HOST"] = "sluice.example.com"
    taken = post(client, disk_line(now()), secret=tenant.secret)

    assert refused.status_code == 403
    assert refused.json()["message"] == (
        'no such address here: "10.0.0.5:8000"; add it to SLUICE_ALLOWED_HOSTS'
    )
    assert taken.status_code == 204


def test_write_is_only_a_post(client: Client, db: None) -> None:
    assert client.get("/api/v2/write").status_code == 405


def test_health_says_whether_the_database_answers(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    well = client.get("/health")

    def fail() -> None:
        raise OperationalError("no server")

    with monkeypatch.context() as broken:
        broken.setattr(connection, "cursor", fail)
        ill = client.get("/health")

    assert (well.status_code, well.json()["status"]) == (200, "pass")
    assert (ill.status_code, ill.json()["status"]) == (503, "fail")


@pytest.mark.parametrize("method", ["get", "head"])
def test_ping_answers_without_a_database(client: Client, method: str) -> None:
    assert getattr(client, method)("/ping").status_code == 204
