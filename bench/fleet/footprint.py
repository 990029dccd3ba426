"""How large the database grows."""

from __future__ import annotations

from datetime import timedelta

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
    """Bytes after 30 days, from the growth of one day at 10 s: its rows, and what is kept."""
    shape = FleetShape(workloads=workloads)
    with another_database("fleet_small"):
        fill(shape, History(fine_s=600, congested_s=0))
        small = database_bytes()
    with another_database("fleet_day"):
        fill(shape, History(fine_s=600 + DAY_S, congested_s=0))
        # An hour is sealed some time after its end.
        product.seal(Organisation.objects.get(), END + timedelta(hours=2))
        whole = database_bytes()
        product.drop_rows(END + timedelta(days=1))
        kept = database_bytes()
    days_of_rows = min(product.days_of_rows(), DAYS)
    per_day = [round(size / workloads / 1000) for size in (whole - kept, kept - small)]
    note = (
        f"kB per workload and day: {per_day[0]} as rows for {24 * days_of_rows:.0f} hours;"
        f" {per_day[1]} sealed for {DAYS} days, states with them"
    )
    size_gb = (small + days_of_rows * (whole - kept) + DAYS * (kept - small)) / 1e9
    what = f"database after {DAYS} days of {workloads} workloads at 10 s"
    return [at_most(what, "GB", GB_ASKED, size_gb, note)]
