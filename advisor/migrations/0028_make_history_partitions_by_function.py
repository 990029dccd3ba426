"""Partitions of the history are made and dropped by functions that run with the owner's rights.

The roles of processes own no table, so they cannot attach or drop a partition themselves. The
functions take the tables of the history only.
"""

from typing import Any

from django.db import migrations

MAKE = """
CREATE FUNCTION advisor_make_history_partition(
    level text, organisation bigint, begin_day date, end_day date
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    parent text := level || '_o' || organisation;
    name text := parent || to_char(begin_day, '"_p"YYYYMMDD');
    by_day boolean := level = 'advisor_history_day';
    form text := CASE WHEN by_day THEN 'YYYY-MM-DD' ELSE 'YYYY-MM-DD" 00:00+00"' END;
BEGIN
    IF level NOT IN (
        'advisor_history_chunk', 'advisor_history_quarter', 'advisor_history_day'
    ) THEN
        RAISE EXCEPTION '% is not a table of the history', level;
    END IF;
    IF to_regclass(parent) IS NULL THEN
        EXECUTE format(
            'CREATE TABLE %I (LIKE %I INCLUDING ALL) PARTITION BY RANGE (%I)',
            parent, level, CASE WHEN by_day THEN 'day' ELSE 'at' END
        );
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%L)', level, parent, organisation
        );
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, parent);
    EXECUTE format(
        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, name, to_char(begin_day, form), to_char(end_day, form)
    );
END $$
"""
DROP = """
CREATE FUNCTION advisor_drop_history_partition(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    IF name !~ '^advisor_history_(chunk|quarter|day)_o[0-9]+(_p[0-9]{8})?$' THEN
        RAISE EXCEPTION '% is not a partition of the history', name;
    END IF;
    EXECUTE format('DROP TABLE %I', name);
END $$
"""
NAMES = (
    "advisor_make_history_partition(text, bigint, date, date)",
    "advisor_drop_history_partition(text)",
)


def create(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
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
    dependencies = [("advisor", "0027_judge_in_groups")]

    operations = [migrations.RunPython(create, drop)]
