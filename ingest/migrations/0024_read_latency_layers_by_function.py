"""The layers of latency that hosts say are read from samples by a function with the owner's rights.

It leaves out series that its session may not see, as those of 0023 do.
"""

from importlib import import_module
from typing import Any

from django.db import migrations

NAMED = import_module("ingest.migrations.0023_read_samples_by_function").NAMED
NAME = (
    "ingest_read_latency_layers(bigint[], text[], timestamptz, timestamptz, text, text, text, text)"
)
READ = f"""
CREATE FUNCTION ingest_read_latency_layers(
    hosts bigint[], devices text[], begins timestamptz, ends timestamptz, rate text,
    guest text, kernel text, queue text
) RETURNS TABLE (
    host text, device text, guest_ms float8, kernel_ms float8, queue_ms float8, device_ms float8
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    named bigint[] := {NAMED};
    sees_all boolean := current_setting('sluice.sees', true) IS NOT DISTINCT FROM 'all';
BEGIN
    RETURN QUERY EXECUTE '
        WITH device AS (
            SELECT * FROM unnest($1, $2) AS own(host_id, subject)
        ), seen AS (
            SELECT device.*, series.id, series.measurement, series.form,
                   series.tags ->> ''field'' AS field
              FROM device JOIN ingest_series AS series USING (host_id, subject)
             WHERE ($9 OR series.organisation_id = ANY ($10))
        ), carried AS (
            SELECT seen.host_id, seen.subject, sample.time, sample.reads + sample.writes AS ios,
                   sample.read_time + sample.write_time AS took
              FROM seen JOIN ingest_diskio_sample AS sample ON sample.series_id = seen.id
             WHERE seen.measurement = ''diskio'' AND seen.form = $5
               AND sample.time > $3 AND sample.time <= $4
        ), said AS (
            SELECT seen.host_id, seen.subject, seen.field, sample.time, sample.value
              FROM seen JOIN ingest_gauge_sample AS sample ON sample.series_id = seen.id
             WHERE seen.measurement = ''gauge'' AND seen.field IN ($6, $7, $8)
               AND sample.time > $3 AND sample.time <= $4
        ), weighed AS (
            SELECT host_id, subject, field, sum(value * ios) / nullif(sum(ios), 0) AS ms,
                   sum(took)::float8 / nullif(sum(ios), 0) AS device_ms
              FROM carried JOIN said USING (host_id, subject, time)
             GROUP BY host_id, subject, field
        )
        SELECT host.name::text, subject::text,
               (max(ms) FILTER (WHERE field = $6))::float8,
               (max(ms) FILTER (WHERE field = $7))::float8,
               (max(ms) FILTER (WHERE field = $8))::float8,
               max(device_ms) FILTER (WHERE field = $6)
          FROM weighed JOIN ingest_host AS host ON host.id = host_id
         GROUP BY host.name, subject
         ORDER BY host.name, subject'
    USING hosts, devices, begins, ends, rate, guest, kernel, queue, sees_all, named;
END $$
"""


def create(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        cursor.execute(READ.replace("SCHEMA", schema))
        # Everybody may call a new function.
        cursor.execute(f"REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC")


def drop(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DROP FUNCTION {NAME}")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0023_read_samples_by_function")]

    operations = [migrations.RunPython(create, drop)]
