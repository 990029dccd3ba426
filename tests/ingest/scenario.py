"""Named situations for the tests of ingest: two tenants with the same host names."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.test import Client

from accounts.models import Organisation, Scope, Token
from ingest.core.line_protocol import Precision
from ingest.models import Host
from ingest.write import WriteResult, store

RETENTION = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An organisation and the token that its hosts send with."""

    organisation: Organisation
    token: Token
    secret: str

    def host(self, name: str = "h1") -> Host:
        return Host.objects.get(organisation=self.organisation, name=name)


def make_tenant(slug: str = "northgate", *, scope: Scope = Scope.INGEST) -> Tenant:
    organisation = Organisation.objects.create(slug=slug, name=slug.title())
    token, secret = Token.objects.issue(
        organisation=organisation, scope=scope, name=f"telegraf of {slug}"
    )
    return Tenant(organisation=organisation, token=token, secret=secret)


def now() -> datetime:
    """The present, to the second: what is written must be near it."""
    return datetime.now(UTC).replace(microsecond=0)


def nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 10**9


def disk_line(at: datetime, *, host: str = "h1", name: str = "sda", count: int = 1) -> str:
    """A diskio line in which every counter is `count`."""
    counters = ",".join(
        f"{field}={count}i"
        for field in (
            "reads", "writes", "read_bytes", "write_bytes",
            "read_time", "write_time", "io_time", "weighted_io_time",
        )
    )  # fmt: skip
    return f"diskio,host={host},name={name} {counters} {nanoseconds(at)}"


def write_lines(tenant: Tenant, *lines: str, at: datetime | None = None) -> WriteResult:
    """Store lines through the service, as the view does."""
    return store(
        "\n".join(lines).encode(),
        token=Token.objects.select_related("organisation", "host").get(pk=tenant.token.pk),
        precision=Precision.NS,
        now=at or now(),
        retention=RETENTION,
    )


def post(
    client: Client, body: str | bytes, *, secret: str, packed: bool = False, **query: Any
) -> HttpResponse:
    """Send a body as Telegraf does, but with a length."""
    content = body.encode() if isinstance(body, str) else body
    headers = {"Authorization": f"Token {secret}"}
    if packed:
        content = gzip.compress(content)
        headers["Content-Encoding"] = "gzip"
    return client.post(
        "/api/v2/write",
        content,
        content_type="text/plain; charset=utf-8",
        query_params=query,
        headers=headers,
    )
