"""Quotas of points and bytes on every way in, and what each sender is answered; real valkey."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import cramjam
import pytest
from django.db import OperationalError
from django.test import Client

from accounts.models import Organisation
from ingest import udp, views
from ingest.core.quota.limits import Quota
from ingest.models import Host, QuotaHit, RejectedLine, Series
from ingest.quotas.entry import spending_of
from ingest.quotas.limits import limits_of
from ingest.udp import Receiver, listen
from tests.ingest.core.decoders.protobuf_writer import message
from tests.ingest.layered_client import LayeredClient
from tests.ingest.quotas.conftest import as_a_new_process
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, now, post

pytestmark = pytest.mark.valkey


def give(tenant: Tenant, **quotas: int | None) -> None:
    Organisation.objects.filter(pk=tenant.organisation.pk).update(
        **{f"quota_{name}": quota for name, quota in quotas.items()}
    )
    tenant.organisation.refresh_from_db()


def owe(tenant: Tenant, *, points: int = 0, size_bytes: int = 0) -> None:
    """The organisation used so much just now."""
    limits = limits_of(tenant.organisation)
    spending = spending_of(tenant.organisation.pk)
    spending.use(limits, points=points, size_bytes=size_bytes)


def hit(tenant: Tenant, quota: Quota) -> QuotaHit:
    return QuotaHit.objects.get(organisation=tenant.organisation, quota=quota)


def line_protocol(client: Client, tenant: Tenant, path: str) -> Any:
    headers = {"Authorization": f"Token {tenant.secret}"}
    return client.post(path, disk_line(now()), content_type="text/plain", headers=headers)


def remote_write(client: Client, tenant: Tenant) -> Any:
    pairs = {"__name__": "node_disk_reads_completed_total", "device": "sda", "instance": "k:9100"}
    labels = [(1, message((1, key), (2, text))) for key, text in sorted(pairs.items())]
    sample = message((1, 5.0), (2, nanoseconds(now()) // 10**6))
    body = bytes(cramjam.snappy.compress_raw(message((1, message(*labels, (2, sample))))))
    headers = {"Authorization": f"Token {tenant.secret}", "Content-Encoding": "snappy"}
    kind = "application/x-protobuf"
    return client.post("/api/v1/write", body, content_type=kind, headers=headers)


def otlp(client: Client, tenant: Tenant) -> Any:
    headers = {"Authorization": f"Token {tenant.secret}"}
    body = '{"resourceMetrics": []}'
    return client.post("/v1/metrics", body, content_type="application/json", headers=headers)


# 429 is for those who keep what is answered so; the others drop it, and keep 503.
WAYS = [
    pytest.param(lambda c, t: line_protocol(c, t, "/api/v2/write"), 429, id="influx 2"),
    pytest.param(lambda c, t: line_protocol(c, t, "/write"), 503, id="influx 1"),
    pytest.param(remote_write, 503, id="remote write"),
    pytest.param(otlp, 429, id="otlp"),
]


@pytest.mark.parametrize(("send", "status"), WAYS)
@pytest.mark.parametrize("rate", ["points", "bytes"])
def test_organisation_above_its_rate_waits_and_others_do_not(  # noqa: PLR0917  fixtures
    client: Client,
    tenant: Tenant,
    stranger: Tenant,
    valkey: str,
    send: Callable[[Client, Tenant], Any],
    status: int,
    rate: str,
) -> None:
    give(tenant, points_per_s=10, bytes_per_s=1000)
    # Of each a minute's worth may be used at once: 600 points, 60,000 bytes.
    owe(tenant, **({"points": 3600} if rate == "points" else {"size_bytes": 360_000}))

    refused = send(client, tenant)
    other = send(client, stranger)

    assert (refused.status_code, refused.json()["code"]) == (status, "too many requests")
    words = "10 points a second" if rate == "points" else "1,000 bytes a second"
    assert f'"northgate" has used up its quota of {words}' in refused.json()["message"]
    # 3,000 points at 10 a second, or 300,000 bytes at 1,000: 300 s less what went by, and up to
    # half more by chance.
    assert 240 <= int(refused["Retry-After"]) <= 450
    assert other.status_code in (200, 204)
    assert not Series.objects.filter(organisation=tenant.organisation).exists()
    found = hit(tenant, Quota.POINTS if rate == "points" else Quota.BYTES)
    assert (found.refused_bodies, found.lost_points) == (1, 0)
    assert not QuotaHit.objects.filter(organisation=stranger.organisation).exists()


@pytest.mark.parametrize(("send", "_status"), WAYS[:3])
def test_body_is_charged_for_its_points_and_bytes(
    client: Client,
    tenant: Tenant,
    valkey: str,
    send: Callable[[Client, Tenant], Any],
    _status: int,
) -> None:
    give(tenant, points_per_s=1)
    owe(tenant, points=59)

    answers = [send(client, tenant).status_code for _ in range(4)]

    # The minute's worth is 60: one is left, and perhaps one or two come while this runs.
    assert answers[0] == 204
    assert answers[-1] in (429, 503)


@pytest.mark.parametrize("kind", [Client, LayeredClient])
@pytest.mark.parametrize("path", ["/api/v2/write", "/v1/metrics"])
def test_body_that_cannot_be_used_is_charged_for_its_size(
    tenant: Tenant, valkey: str, path: str, kind: type[Client]
) -> None:
    client = kind()
    give(tenant, bytes_per_s=10)
    headers = {"Authorization": f"Token {tenant.secret}", "Content-Encoding": "gzip"}

    answers = [
        client.post(path, b"x" * 6000, content_type="application/json", headers=headers)
        for _ in range(2)
    ]

    # A minute's worth is 600 bytes.
    assert [one.status_code for one in answers] == [400, 429]


def test_body_of_another_process_counts(client: Client, tenant: Tenant, valkey: str) -> None:
    give(tenant, points_per_s=1)
    lines = "\n".join(disk_line(now(), name=f"sd{n}") for n in range(100))
    first = post(client, lines, secret=tenant.secret)

    as_a_new_process()
    second = post(client, disk_line(now()), secret=tenant.secret)

    assert (first.status_code, second.status_code) == (204, 429)
    # 40 more than a minute's worth.
    assert 20 <= int(second["Retry-After"]) <= 60


def test_wrong_token_is_refused_before_any_quota(
    client: Client, tenant: Tenant, valkey: str
) -> None:
    give(tenant, points_per_s=1)
    owe(tenant, points=1000)

    assert post(client, "x", secret="slu_wrong").status_code == 401
    assert not QuotaHit.objects.exists()


def test_refused_body_is_not_read(client: Client, tenant: Tenant, valkey: str) -> None:
    give(tenant, points_per_s=1)
    owe(tenant, points=1000)

    # It is no gzip: whoever reads it answers 400.
    answer = client.post(
        "/api/v2/write",
        b"no gzip",
        content_type="text/plain",
        headers={"Authorization": f"Token {tenant.secret}", "Content-Encoding": "gzip"},
    )

    assert answer.status_code == 429


def test_what_the_database_did_not_take_costs_nothing(
    client: Client, tenant: Tenant, valkey: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(tenant, points_per_s=1)
    lines = "\n".join(disk_line(now(), name=f"sd{n}") for n in range(100))

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError("the server closed the connection")

    with monkeypatch.context() as patched:
        patched.setattr(views, "store", fail)
        away = [post(client, lines, secret=tenant.secret).status_code for _ in range(3)]
    taken = post(client, lines, secret=tenant.secret)

    assert away == [503] * 3
    assert taken.status_code == 204


def test_quota_of_the_installation_holds_for_those_without_their_own(
    client: Client, tenant: Tenant, stranger: Tenant, valkey: str, settings: Any
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "points_per_s": 1}
    give(stranger, points_per_s=0)
    for one in (tenant, stranger):
        owe(one, points=1000)

    answers = [
        post(client, disk_line(now()), secret=one.secret).status_code for one in (tenant, stranger)
    ]

    # 0 says that there is none.
    assert answers == [429, 204]


def test_without_valkey_writes_pass_within_the_quota_of_each_process(
    client: Client, tenant: Tenant, settings: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    as_a_new_process()
    give(tenant, points_per_s=1)
    lines = "\n".join(disk_line(now(), name=f"sd{n}") for n in range(100))

    answers = [post(client, lines, secret=tenant.secret).status_code for _ in range(2)]

    assert answers == [204, 429]


@pytest.mark.django_db(transaction=True)
def test_datagrams_above_the_rate_are_dropped_counted_and_said(
    tenant: Tenant, valkey: str, caplog: pytest.LogCaptureFixture
) -> None:
    give(tenant, points_per_s=1)
    owe(tenant, points=1000)
    lines = f"{disk_line(now())}\n{disk_line(now(), name='sdb')}\n"

    receive(tenant, lines, disk_line(now(), name="sdc"))

    assert not Series.objects.exists()
    found = hit(tenant, Quota.POINTS)
    # Two lines in the first, each with its end, and one in the second.
    assert (found.refused_bodies, found.lost_points) == (1, 3)
    assert '2 datagrams were dropped: organisation "northgate" has used up' in caplog.text


@pytest.mark.django_db(transaction=True)
def test_datagrams_of_a_new_host_are_refused_by_name_and_the_known_stored(
    tenant: Tenant, valkey: str
) -> None:
    give(tenant, hosts=1)

    receive(tenant, disk_line(now(), host="h1"), disk_line(now(), host="h2"))

    assert list(Host.objects.values_list("name", flat=True)) == ["h1"]
    assert RejectedLine.objects.get().line == "diskio,host=h2,name=sda"


def receive(tenant: Tenant, *datagrams: str) -> None:
    with (
        listen("127.0.0.1", 0) as listening,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        for datagram in datagrams:
            sender.sendto(datagram.encode(), listening.getsockname())
        receiver = Receiver(listening, secret=tenant.secret, retention=timedelta(days=30))
        receiver._receive(udp.FLUSH_EVERY_S)
        receiver._receive(udp.FLUSH_EVERY_S)
        receiver._flush(now())
