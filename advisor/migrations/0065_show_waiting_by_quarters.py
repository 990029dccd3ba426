"""The view of quarters tells the figures of waiting, too: of iocost, virtual disks and mounts."""

from importlib import import_module

from django.db import migrations

BEFORE = import_module("advisor.migrations.0026_add_stored_history").VIEW.replace(
    "CREATE VIEW", "CREATE OR REPLACE VIEW"
)
NEXT = "    ('resource', 1,"
VIEW = BEFORE.replace(
    NEXT,
    f"""    ('held', 1, 'held', 'µs/s'),
    ('vdisk', 1, 'completed_reads', 'I/Os/s'),
    ('vdisk', 2, 'completed_writes', 'I/Os/s'),
    ('vdisk', 3, 'read_time', 'ns/s'),
    ('vdisk', 4, 'write_time', 'ns/s'),
    ('client', 1, 'read_queue_time', 'ms/s'),
    ('client', 2, 'write_queue_time', 'ms/s'),
    ('client', 3, 'read_round_trip', 'ms/s'),
    ('client', 4, 'write_round_trip', 'ms/s'),
{NEXT}""",
)


class Migration(migrations.Migration):
    dependencies = [("advisor", "0064_share_incidents_and_proofs")]

    operations = [migrations.RunSQL(VIEW, BEFORE)]
