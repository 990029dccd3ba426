"""How large the database grows."""

from __future__ import annotations

from accounts.models import Organisation
from bench.fleet import product
from bench.fleet.databases import another_database, database_bytes
from bench.fleet.fill import fill
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import END, FleetShape, History

DAYS = 30
DAY_S = 86_400
GB_ASKED = 3.0


def footprint_rows(workloads: int) -> list[Row]:
    """Bytes after 30 days, from the growth of one day at 10 s."""
    shape = FleetShape(workloads=workloads)
    with another_database("fleet_small"):
        fill(shape, History(fine_s=600, congested_s=0))
        small = database_bytes()
    with another_database("fleet_day"):
        fill(shape, History(fine_s=600 + DAY_S, congested_s=0))
        product.seal(Organisation.objects.get(), END)
        day = database_bytes() - small
    per_workload_kb = day / workloads / 1000
    note = f"30 x one stored day; {per_workload_kb:.0f} kB per workload and day, states included"
    what = f"database after {DAYS} days of {workloads} workloads at 10 s"
    return [at_most(what, "GB", GB_ASKED, (small + DAYS * day) / 1e9, note)]
