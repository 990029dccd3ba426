"""Noting when series were heard of costs as much as there is to note, however many there are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction

from config.database_roles import DatabaseRole
from ingest.behind import _NOTE_HOSTS, _NOTE_SERIES, _SETTINGS
from ingest.models import Host, Series
from tests.config.roles import acting_as, make_roles
from tests.ingest.scenario import make_tenant, now

SERIES, NOTED = 6000, 1000


@pytest.mark.django_db
def test_each_series_is_looked_up_behind_the_wall_of_rows() -> None:
    """The planner would go through all of them for each, as it takes them for few."""
    organisation = make_tenant().organisation
    hosts = Host.objects.bulk_create(
        Host(organisation=organisation, name=f"h{number}") for number in range(SERIES // 10)
    )
    series = Series.objects.bulk_create(
        Series(
            organisation=organisation, host=hosts[number // 10], measurement="net",
            tags_key=f"{number}", last_sample_at=now() - timedelta(hours=1),
        )
        for number in range(SERIES)
    )  # fmt: skip
    make_roles()

    plans = []
    with acting_as(DatabaseRole.WEB), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        for statement, rows, columns in ((_NOTE_SERIES, series, 1), (_NOTE_HOSTS, hosts, 2)):
            numbers = "{" + ",".join(str(row.pk) for row in rows[:NOTED]) + "}"
            times = "{" + ",".join(["0"] * len(rows[:NOTED])) + "}"
            cursor.execute(f"EXPLAIN {statement}", [numbers, *[times] * columns])
            plans.append("\n".join(line for (line,) in cursor.fetchall()))

    assert "Index Scan using ingest_series_pkey" in plans[0]
    assert "Index Scan using ingest_host_pkey" in plans[1]
    assert not any("Seq Scan" in plan for plan in plans), "\n".join(plans)
