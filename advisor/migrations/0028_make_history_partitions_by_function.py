"""Partitions of the stored history are made and dropped by functions with the owner's rights.

The roles of processes own no table, so they cannot attach or drop a partition themselves. The
functions take tables of the history only, and drop all of an organisation only when it is gone.
"""

from typing import Any

from django.db import migrations

CHECK = """
    IF parent NOT IN
        ('advisor_history_chunk', 'advisor_history_quarter', 'advisor_history_day')
    THEN
        RAISE EXCEPTION '% is not a table of the history', parent;
    END IF;
"""
MAKE = f"""
CREATE FUNCTION advisor_make_history(
    parent text, organisation integer, since date, until date
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    own text := parent || '_o' || organisation;
    name text := own || to_char(since, '"_p"YYYYMMDD');
    key text := CASE parent WHEN 'advisor_history_day' THEN 'day' ELSE 'at' END;
BEGIN
    {CHECK}
    IF to_regclass(own) IS NULL THEN
        EXECUTE format(
            'CREATE TABLE %I (LIKE %I INCLUDING ALL) PARTITION BY RANGE (%I)', own, parent, key
        );
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%s)', parent, own, organisation
        );
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, own);
    IF key = 'day' THEN
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            own, name, since, until
        );
    ELSE
        EXECUTE format(
            'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            own, name,
            since::timestamp AT TIME ZONE 'UTC', until::timestamp AT TIME ZONE 'UTC'
        );
    END IF;
END $$
"""
DROP = f"""
CREATE FUNCTION advisor_drop_history(parent text, organisation integer, begun date)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    {CHECK}
    EXECUTE format(
        'DROP TABLE %I', parent || '_o' || organisation || to_char(begun, '"_p"YYYYMMDD')
    );
END $$
"""
DROP_ALL = """
CREATE FUNCTION advisor_drop_history_of_deleted(organisation integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM accounts_organisation WHERE id = organisation) THEN
        RAISE EXCEPTION 'organisation % is there, so its history stays', organisation;
    END IF;
    EXECUTE format(
        'DROP TABLE IF EXISTS %I, %I, %I', 'advisor_history_chunk_o' || organisation,
        'advisor_history_quarter_o' || organisation, 'advisor_history_day_o' || organisation
    );
END $$
"""
NAMES = (
    "advisor_make_history(text, integer, date, date)",
    "advisor_drop_history(text, integer, date)",
    "advisor_drop_history_of_deleted(integer)",
)


def create(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        for text in (MAKE, DROP, DROP_ALL):
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
