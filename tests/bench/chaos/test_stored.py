"""What the product stored of a batch is found as it was sent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Organisation, Scope, Token
from bench.chaos.product import STORED
from bench.chaos.verdict import Stored, losses
from bench.chaos.writer import batch
from ingest.core.line_protocol import Precision
from ingest.write import store


@pytest.mark.django_db
def test_rows_of_a_stored_batch_are_found_from_its_time_on() -> None:
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    token, _ = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="chaos")
    now = timezone.now()
    first_ms = round(now.timestamp() * 1000) - 5_000
    acknowledged = {("chaos-0", first_ms): 10, ("chaos-0", first_ms + 137): 20}
    for (host, at_ms), number in acknowledged.items():
        store(
            batch(host, at_ms, number), token=token, precision=Precision.NS, now=now,
            retention=timedelta(days=30),
        )  # fmt: skip

    def found(since_ms: int) -> list[Stored]:
        with connection.cursor() as cursor:
            cursor.execute(STORED, {"hosts": ["chaos-0"], "since_s": since_ms / 1000})
            names = ("host", "at_ms", "table", "number")
            return [Stored(**dict(zip(names, row, strict=True))) for row in cursor.fetchall()]

    assert not losses(acknowledged, found(first_ms - 1)).any
    assert {row.number for row in found(first_ms + 1)} == {20}
