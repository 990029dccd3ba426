"""Who writes samples keeps their series from being deleted without touching their rows.

Writers hold the hosts of the series, which others may do at the same time; whoever deletes a
series waits for them. Deletions are counted, so a writer knows whether what it remembers of
series still holds. The roles of processes own no sequence, so functions do both.
"""

from typing import Any

from django.db import migrations

# A number of its own for advisory locks of two parts; the second is the bucket of the host.
# The hours of hosts (µs since 1970) are locked, or put on the list of what is to be sealed.
HOLD = """
CREATE FUNCTION ingest_hold_series(buckets integer[], hosts bigint[], hours bigint[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    there bigint;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7011514, bucket)
       FROM (SELECT unnest(buckets) AS bucket ORDER BY 1) AS held;
    IF cardinality(hosts) > 0 THEN
        WITH held AS MATERIALIZED (
            SELECT FROM unnest(hosts, hours) AS wrote(host_id, hour)
              JOIN ingest_openhour AS open ON open.host_id = wrote.host_id
               AND open.at = to_timestamp(0) + hour * interval '1 microsecond'
             ORDER BY open.host_id, open.at FOR KEY SHARE OF open
        ) SELECT count(*) INTO there FROM held;
        IF there < cardinality(hosts) THEN
            INSERT INTO ingest_openhour (host_id, at)
            SELECT host_id, to_timestamp(0) + hour * interval '1 microsecond'
              FROM unnest(hosts, hours) AS wrote(host_id, hour) ORDER BY host_id, hour
                ON CONFLICT (host_id, at) DO UPDATE SET at = excluded.at;
        END IF;
    END IF;
    RETURN (SELECT last_value FROM ingest_series_deletions);
END $$
"""
GONE = """
CREATE FUNCTION ingest_series_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    bucket text;
    gone text := coalesce(current_setting('ingest.gone', true), '');
BEGIN
    IF TG_OP = 'DELETE' THEN
        bucket := format('<%s>', OLD.host_id % 64);
        -- Once in a transaction is enough, because no writer comes in between.
        IF position(bucket IN gone) > 0 THEN
            RETURN OLD;
        END IF;
        PERFORM pg_advisory_xact_lock(7011514, (OLD.host_id % 64)::integer);
        PERFORM set_config('ingest.gone', gone || bucket, true);
    END IF;
    PERFORM nextval('ingest_series_deletions');
    RETURN OLD;
END $$
"""
MADE = (
    "CREATE SEQUENCE ingest_series_deletions",
    # The first number that is drawn is the one that stands there already.
    "SELECT nextval('ingest_series_deletions')",
    HOLD,
    GONE,
    "REVOKE EXECUTE ON FUNCTION ingest_hold_series(integer[], bigint[], bigint[]) FROM PUBLIC",
    # All rows of this table are written to, again and again, each in place.
    "ALTER TABLE ingest_series SET (fillfactor = 50)",
    "CREATE TRIGGER series_gone BEFORE DELETE ON ingest_series"
    " FOR EACH ROW EXECUTE FUNCTION ingest_series_gone()",
    "CREATE TRIGGER all_series_gone BEFORE TRUNCATE ON ingest_series"
    " EXECUTE FUNCTION ingest_series_gone()",
)
DROPPED = (
    "ALTER TABLE ingest_series RESET (fillfactor)",
    "DROP TRIGGER all_series_gone ON ingest_series",
    "DROP TRIGGER series_gone ON ingest_series",
    "DROP FUNCTION ingest_series_gone()",
    "DROP FUNCTION ingest_hold_series(integer[], bigint[], bigint[])",
    "DROP SEQUENCE ingest_series_deletions",
)


def create(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        for statement in MADE:
            cursor.execute(statement.replace("SCHEMA", schema))


def drop(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for statement in DROPPED:
            cursor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("ingest", "0021_add_quota_hits")]

    operations = [migrations.RunPython(create, drop)]
