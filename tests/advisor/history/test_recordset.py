"""Rows that are written together are as if each had been saved."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.history.recordset import update_rows
from advisor.models import Attachment, Workload
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_named_fields_are_written_and_no_others(cluster: Cluster) -> None:
    rows = list(Workload.objects.order_by("pk"))
    texts = ["plain", "it's {rows} and %s", '\\ "quoted" \n é']
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        row.name, row.tier_reason = text, "not written"
        row.identity = {"path": text, "list": [number, None, 0.1]}
        row.vanished_at = NOW + timedelta(microseconds=number) if number else None

    with CaptureQueriesContext(connection) as asked:
        update_rows(rows, ["name", "identity", "vanished_at"])

    assert len(asked) == 1
    for row, stored in zip(rows, Workload.objects.order_by("pk"), strict=True):
        assert stored.name == row.name
        assert stored.identity == row.identity
        assert stored.vanished_at == row.vanished_at
        assert stored.tier_reason == ""


def test_relation_is_written_by_its_key(cluster: Cluster) -> None:
    other = make_cluster("globex")
    row = Attachment.objects.get(resource=cluster.uplink)
    row.resource, row.device_queue_depth = other.uplink, 7
    Attachment.objects.filter(resource=other.uplink).delete()

    update_rows([row], ["resource", "device_queue_depth"])

    assert Attachment.objects.values_list("resource", "device_queue_depth").get(pk=row.pk) == (
        other.uplink.pk,
        7,
    )


def test_no_rows_are_no_statement() -> None:
    with CaptureQueriesContext(connection) as asked:
        update_rows([], ["name"])

    assert not asked.captured_queries
