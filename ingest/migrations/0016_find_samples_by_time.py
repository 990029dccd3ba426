"""Samples of one moment are found by their time.

A window of all workloads is judged from the newest few rows of each: there is a row for each
series among them, so a search by series visits as many places as there are series.

The index is of an expression, so that it serves only statements that ask for a moment. Of few
series over a long time the planner would read all rows of that time, and leave out most.
"""

from django.db import migrations

from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE, TCP

TABLES = [kind.measurement.table for kind in (DISK, INTERFACE, CGROUP_IO, PRESSURE, TCP)]


class Migration(migrations.Migration):
    dependencies = [("ingest", "0015_note_shared_names")]

    operations = [
        migrations.RunSQL(
            f"CREATE INDEX {table}_time ON {table} ((time AT TIME ZONE 'UTC'))",
            f"DROP INDEX {table}_time",
        )
        for table in TABLES
    ]
