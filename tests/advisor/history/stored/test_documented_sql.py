"""Statements that the documentation tells people to run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import ProgrammingError, connection

from tests.advisor.history.stored.hosts import (
    HOUR,
    MINUTE,
    after,
    hour_of_tests,
    seal_all,
    times,
)
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.stated_datastores import stated_datastore
from tests.ingest.scenario import Tenant, disk_line, write_lines

OPERATIONS = Path(__file__).parents[4] / "docs" / "operations.md"


def documented_sql() -> list[str]:
    """Those of operations, with the time filter of a panel that shows everything."""
    found = re.findall(r"```sql\n(.*?)```", OPERATIONS.read_text(), re.DOTALL)
    return [one.replace("$__timeFilter(at)", "at > '1970-01-01'") for one in found]


@pytest.mark.django_db
def test_history_is_queried_by_a_user_who_reads_its_view_alone(tenant: Tenant) -> None:
    role, level, reads = documented_sql()
    hour = hour_of_tests()
    datastore = stated_datastore(tenant.organisation, "nfs-07", "h1")
    judge(datastore, judged_window(hour + MINUTE, value=12.0))
    # Seven bytes every 10 s.
    lines = [
        disk_line(at, name="sdb", count=7 * place)
        for place, at in enumerate(times(hour, hour + HOUR))
    ]
    write_lines(tenant, *lines)
    seal_all(tenant, after(hour))

    with connection.cursor() as cursor:
        cursor.execute(role)
        cursor.execute("SET LOCAL ROLE grafana")
        cursor.execute(level)
        levels = cursor.fetchall()
        cursor.execute(reads)
        rates = cursor.fetchall()
        with pytest.raises(ProgrammingError, match="permission denied"):
            cursor.execute("SELECT 1 FROM advisor_history_quarter")

    assert levels == [(hour, "nfs-07", 12.0, 12.0)]
    assert rates == [
        (hour + quarter * 15 * MINUTE, "h1", pytest.approx(0.7)) for quarter in range(4)
    ]
