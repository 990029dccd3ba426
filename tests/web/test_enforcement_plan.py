"""What a page asks of reports is looked for by an index, also behind the wall of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Subquery

from accounts.row_wall import look_at, walled
from advisor.models import Allocation
from advisor.models.workload import allocation_id
from advisor.queries.enforcement_read import reports_of_row
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.fleet import Fleet


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for one in plan.get("Plans", ()):
        yield from nodes(one)


def test_newest_report_of_each_allocation_is_found_by_its_name(fleet: Fleet) -> None:
    make_roles()
    with connection.cursor() as cursor:
        # Of a host with so few allocations PostgreSQL would go through its reports.
        cursor.execute("DROP INDEX compliance_of_host")
    newest = reports_of_row().order_by("-reported_at").values("reported_at")[:1]
    rows = Allocation.objects.annotate(last=Subquery(newest)).values_list("pk", "last")
    with acting_as(DatabaseRole.WEB), walled():
        look_at(fleet.organisation.pk)
        with connection.cursor() as cursor:
            # Of so few rows PostgreSQL would read all.
            for way in ("seqscan", "bitmapscan", "sort"):
                cursor.execute(f"SET LOCAL enable_{way} = off")
        (plan,) = json.loads(rows.explain(format="json"))
        seen = list(rows)

    (looked,) = (
        one for one in nodes(plan["Plan"]) if "advisor_compliance" in str(one.get("Relation Name"))
    )
    assert looked["Index Name"] == "one_record_per_report"
    assert "allocation)" in looked["Index Cond"]
    assert len(seen) > 3
    assert sum(last is not None for _, last in seen) == 3


def test_name_on_the_wire_is_the_same_in_python_and_in_the_database(fleet: Fleet) -> None:
    rows = Allocation.objects.all()

    assert {row.wire_name for row in rows} == {allocation_id(row) for row in rows} != set()
