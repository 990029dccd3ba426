"""Days of sample tables are made and dropped by functions that run with the owner's rights.

The roles of processes own no table, so they cannot attach or drop a partition themselves. The
functions take sample tables only.
"""

from typing import Any

from django.db import migrations

CHECK = """
    IF parent !~ '^ingest_[a-z_]+_sample$' THEN
        RAISE EXCEPTION '% is not a table of samples', parent;
    END IF;
"""
MAKE = f"""
CREATE FUNCTION ingest_make_partition(parent text, day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    name text := parent || to_char(day, '"_p"YYYYMMDD');
BEGIN
    {CHECK}
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, parent);
    EXECUTE format(
        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, name,
        day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC'
    );
END $$
"""
DROP = f"""
CREATE FUNCTION ingest_drop_samples(parent text, before timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    last text := parent || to_char((before AT TIME ZONE 'UTC')::date - 1, '"_p"YYYYMMDD');
    name text;
    dropped integer := 0;
BEGIN
    {CHECK}
    IF (SELECT relkind FROM pg_class WHERE oid = to_regclass(parent)) <> 'p' THEN
        -- The functions of the extension are in a schema of its own choice.
        EXECUTE format(
            'SELECT count(*) FROM %s.drop_chunks(%L::regclass, older_than => %L::timestamptz)',
            (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'timescaledb'),
            parent, before
        ) INTO dropped;
        RETURN dropped;
    END IF;
    FOR name IN
        SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
        WHERE inhparent = to_regclass(parent) AND child.relname <= last ORDER BY child.relname
    LOOP
        EXECUTE format('DROP TABLE %I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$
"""
NAMES = (
    "ingest_make_partition(text, date)",
    "ingest_drop_samples(text, timestamptz)",
)


def create(_: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        for text in (MAKE, DROP):
            cursor.execute(text.replace("SCHEMA", schema))
        for name in NAMES:
            # Everybody may call a new function.
            cursor.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def drop(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for name in NAMES:
            cursor.execute(f"DROP FUNCTION {name}")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0009_add_io_in_flight")]

    operations = [migrations.RunPython(create, drop)]
