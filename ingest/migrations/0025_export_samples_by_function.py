"""An owner's export reads rows of samples through a function, for a part of time at a time."""

from importlib import import_module
from typing import Any

from django.db import migrations

_OTHERS = import_module("ingest.migrations.0023_read_samples_by_function")
NAME = "ingest_own_samples(anyelement, timestamptz, timestamptz)"
READ = f"""
CREATE FUNCTION ingest_own_samples(kind anyelement, begins timestamptz, ends timestamptz)
RETURNS SETOF anyelement
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    parent text := pg_typeof(kind)::text;
BEGIN
    {_OTHERS.CHECK}
    RETURN QUERY EXECUTE format(
        'SELECT * FROM %I WHERE time >= $1 AND time < $2'
        -- So the index by time can be used, which is of this expression.
        ' AND time AT TIME ZONE ''UTC'' >= $1 AT TIME ZONE ''UTC'''
        ' AND time AT TIME ZONE ''UTC'' < $2 AT TIME ZONE ''UTC'''
        ' AND series_id IN (SELECT id FROM ingest_series WHERE organisation_id = ANY ($3))',
        parent
    ) USING begins, ends, {_OTHERS.NAMED};
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
    dependencies = [("ingest", "0024_read_latency_layers_by_function")]

    operations = [migrations.RunPython(create, drop)]
