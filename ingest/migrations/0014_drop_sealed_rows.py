"""Rows of samples go some hours after their time, each partition once its hours are sealed.

A function of the database decides that while nobody writes: samples that were committed before it
had the lock have put their hours on the list, and later ones go to a partition of their own.
"""

from importlib import import_module
from typing import Any

from django.db import migrations, models

BY_DAY = import_module("ingest.migrations.0010_make_partitions_by_function")
BY_PARTS = import_module("ingest.migrations.0012_partition_samples_by_six_hours")

DROP = f"""
CREATE FUNCTION ingest_drop_samples(parent text, before timestamptz, only_sealed boolean)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    is_native boolean := (SELECT relkind FROM pg_class WHERE oid = to_regclass(parent)) = 'p';
    parts text := $native$
        SELECT child.relname AS name, begun, ended
          FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
         CROSS JOIN LATERAL (SELECT
               to_timestamp(substring(child.relname FROM '_p(\\d{{8}})'), 'YYYYMMDD')::date
               ::timestamp AS day, child.relname ~ '_p\\d{{8}}_\\d\\d$' AS is_short) AS named
         CROSS JOIN LATERAL (SELECT
               CASE WHEN is_short THEN (right(child.relname, 2) || ' hours')::interval
                    ELSE interval '0' END AS skipped,
               CASE WHEN is_short THEN interval '6 hours' ELSE interval '1 day' END AS length
               ) AS sized
         CROSS JOIN LATERAL (SELECT (day + skipped) AT TIME ZONE 'UTC' AS begun,
                                    (day + skipped + length) AT TIME ZONE 'UTC' AS ended) AS timed
         WHERE inhparent = to_regclass($1)
    $native$;
    part record;
    is_locked boolean := false;
    dropped integer := 0;
BEGIN
    {BY_DAY.CHECK}
    IF NOT is_native THEN
        parts := $hyper$
            SELECT chunk_name AS name, range_start AS begun, range_end AS ended
              FROM timescaledb_information.chunks
             WHERE hypertable_name = $1 AND hypertable_schema = current_schema()
        $hyper$;
    END IF;
    -- Samples of up to 30 min before an hour and 15 min after it say something about it.
    parts := format(
        'SELECT * FROM (%s) AS part WHERE ended <= $2 AND NOT ($3 AND EXISTS ('
        'SELECT FROM ingest_openhour WHERE at > begun - interval ''2 hours'''
        ' AND at < ended + interval ''1 hour'')) ORDER BY begun', parts
    );
    FOR part IN EXECUTE parts USING parent, before, only_sealed LOOP
        -- In the order of writers: the table before its parts.
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', parent);
        is_locked := true;
        EXIT;
    END LOOP;
    IF NOT is_locked THEN
        RETURN 0;
    END IF;
    FOR part IN EXECUTE parts USING parent, before, only_sealed LOOP
        IF is_native THEN
            EXECUTE format('DROP TABLE %I', part.name);
        ELSE
            -- The functions of the extension are in a schema of its own choice.
            EXECUTE format(
                'SELECT count(*) FROM %s.drop_chunks(%L::regclass,'
                ' older_than => %L::timestamptz, newer_than => %L::timestamptz)',
                (SELECT extnamespace::regnamespace FROM pg_extension
                  WHERE extname = 'timescaledb'),
                parent, part.ended, part.begun
            );
        END IF;
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$
"""
NAME = "ingest_drop_samples(text, timestamptz, boolean)"
FORMER_NAME = BY_DAY.NAMES[1]


def by_hours(_: Any, schema_editor: Any) -> None:
    _replace(schema_editor, former=FORMER_NAME, name=NAME, text=DROP)


def by_age(_: Any, schema_editor: Any) -> None:
    _replace(schema_editor, former=NAME, name=FORMER_NAME, text=BY_PARTS.DROP)


def _replace(schema_editor: Any, *, former: str, name: str, text: str) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        cursor.execute(f"DROP FUNCTION {former}")
        cursor.execute(text.replace("SCHEMA", schema))
        # Everybody may call a new function.
        cursor.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0013_note_late_samples")]

    operations = [
        migrations.CreateModel(
            name="KeptRows",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("since", models.DateTimeField()),
            ],
            options={"verbose_name_plural": "kept rows"},
        ),
        migrations.RunPython(by_hours, by_age),
    ]
