"""Partitions and chunks of samples cover six hours from here on, so that sealed ones can go soon.

Days that were made whole stay so, and go when the day is over.
"""

from importlib import import_module
from typing import Any

from django.db import migrations

BY_DAY = import_module("ingest.migrations.0010_make_partitions_by_function")

TABLES = [
    f"ingest_{name}_sample"
    for name in (
        "diskio",
        "net",
        "cgroup",
        "cgroup_pressure",
        "system",
        "collector",
        "scsi_reservation",
        "nstat",
        "block_device",
    )
]
MAKE = f"""
CREATE FUNCTION ingest_make_part(parent text, begun timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    name text := parent || to_char(begun AT TIME ZONE 'UTC', '"_p"YYYYMMDD"_"HH24');
BEGIN
    {BY_DAY.CHECK}
    IF extract(epoch FROM begun)::bigint % 21600 <> 0 THEN
        RAISE EXCEPTION 'no quarter of a day begins at %', begun;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, parent);
    EXECUTE format(
        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, name, begun, begun + interval '6 hours'
    );
END $$
"""
DROP = BY_DAY.DROP.replace(
    """    last text := parent || to_char((before AT TIME ZONE 'UTC')::date - 1, '"_p"YYYYMMDD');
""",
    "",
).replace(
    "AND child.relname <= last ORDER BY child.relname",
    """AND (to_timestamp(substring(child.relname FROM '_p(\\d{8})'), 'YYYYMMDD')::date::timestamp
             + CASE WHEN child.relname ~ '_p\\d{8}_\\d\\d$'
                    THEN (right(child.relname, 2) || ' hours')::interval + interval '6 hours'
                    ELSE interval '1 day' END) AT TIME ZONE 'UTC' <= before
        ORDER BY child.relname""",
)
MAKE_NAME = "ingest_make_part(text, timestamptz)"
MAKE_BY_DAY_NAME, DROP_NAME = BY_DAY.NAMES


def by_parts(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        cursor.execute(MAKE.replace("SCHEMA", schema))
        # Everybody may call a new function.
        cursor.execute(f"REVOKE EXECUTE ON FUNCTION {MAKE_NAME} FROM PUBLIC")
        cursor.execute(f"DROP FUNCTION {MAKE_BY_DAY_NAME}")
        replaced = DROP.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
        cursor.execute(replaced.replace("SCHEMA", schema))
        _set_chunk_interval(cursor, "6 hours")


def by_days(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DROP FUNCTION {MAKE_NAME}")
        cursor.execute(f"DROP FUNCTION {DROP_NAME}")
        _set_chunk_interval(cursor, "1 day")
    BY_DAY.create(apps, schema_editor)


def _set_chunk_interval(cursor: Any, interval: str) -> None:
    cursor.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb')")
    (timescaledb,) = cursor.fetchone()
    for table in TABLES if timescaledb else ():
        cursor.execute("SELECT set_chunk_time_interval(%s, %s::interval)", [table, interval])


class Migration(migrations.Migration):
    dependencies = [("ingest", "0011_add_open_hours")]

    operations = [migrations.RunPython(by_parts, by_days)]
