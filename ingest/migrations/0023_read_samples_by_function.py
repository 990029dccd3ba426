"""Samples are read, and united with what is stored, by functions with the owner's rights.

The tables of samples have no row-level security: PostgreSQL copies into no table that has it, and
TimescaleDB compresses none. So web servers may not read them. A function leaves out the series
that its session may not see, by the words of their policy (`config.row_walls`), and then reads.

Each statement is planned with its values, so that partitions and chunks of other times are left
out of the plan, and comes as text because the table is one of several.
"""

from typing import Any

from django.db import migrations

CHECK = """
    IF parent !~ '^ingest_[a-z_]+_sample$' THEN
        RAISE EXCEPTION '% is not a table of samples', parent;
    END IF;
"""
NAMED = """
string_to_array(nullif(current_setting('sluice.organisations', true), ''), ',')::bigint[]
""".strip()
DECLARED = f"""
    named bigint[] := {NAMED};
    seen bigint[] := series;
"""
# Written out in each function, because the shortest reads would notice one more call.
SEEN = """
    IF current_setting('sluice.sees', true) IS DISTINCT FROM 'all' THEN
        seen := ARRAY(
            SELECT id FROM ingest_series WHERE id = ANY (series) AND organisation_id = ANY (named)
        );
    END IF;
"""

IN_TIME = """
           time >= $2 AND time <= $3
       -- So the index by time can be used, which is of this expression.
       AND time AT TIME ZONE 'UTC' >= $2 AT TIME ZONE 'UTC'
       AND time AT TIME ZONE 'UTC' <= $3 AT TIME ZONE 'UTC'
"""
WAYS = {
    "every": f"""
    SELECT NULL::bigint, string_agg({{row}}, ''::bytea) FROM {{table}} AS sample
     WHERE series_id = ANY ($1) AND {IN_TIME}
     GROUP BY series_id % 64
""",
    # Without the sum the planner weighs each of the series by itself, which takes half the time.
    "new": f"""
    SELECT NULL::bigint, string_agg({{row}}, ''::bytea) FROM {{table}} AS sample
     WHERE series_id + 0 = ANY ($1) AND {IN_TIME}
    HAVING count(*) > 0
""",
    # The series is said once for all of its readings; they come as they are found, mostly by time.
    # The sum keeps the planner from reading all series in the order of an index to group them.
    "of each series": """
    SELECT series_id + 0, string_agg({reading}, ''::bytea) FROM {table} AS sample
     WHERE series_id = ANY ($1) AND time >= $2 AND time <= $3
     GROUP BY series_id + 0
""",
    # One look-up in the index per series and step: the cost follows the windows, not the samples.
    "last of each step": """
    SELECT NULL::bigint, string_agg({row}, ''::bytea)
      FROM unnest($1) AS wanted(id)
     CROSS JOIN generate_series($2, $3 - $4, $4) AS step(start)
     CROSS JOIN LATERAL (
        SELECT * FROM {table}
         WHERE series_id = wanted.id AND time > step.start AND time <= step.start + $4
           AND time > $2 AND time <= $3
         ORDER BY time DESC LIMIT 1
     ) AS sample
     GROUP BY series_id % 64
""",
    # The two readings before: an interval is judged by the one before it.
    "around": """
    SELECT NULL::bigint, string_agg({row}, ''::bytea)
      FROM unnest($1) AS wanted(id)
     CROSS JOIN LATERAL (
        (SELECT * FROM {table}
          WHERE series_id = wanted.id AND time < $2 AND time >= $6
          ORDER BY time DESC LIMIT 2)
        UNION ALL
        (SELECT * FROM {table}
          WHERE series_id = wanted.id AND time > $3 AND time <= $7
          ORDER BY time LIMIT 1)
     ) AS sample
     GROUP BY series_id % 64
""",
    "newest": """
    SELECT NULL::bigint, string_agg({row}, ''::bytea)
      FROM unnest($1) AS wanted(id)
     CROSS JOIN LATERAL (
        SELECT * FROM {table}
         WHERE series_id = wanted.id AND time > $2 AND time <= $3
         ORDER BY time DESC LIMIT $5
     ) AS sample
     GROUP BY series_id % 64
""",
}
"""Of `row` the series, the time and the columns of a reading as bytes, of `reading` all but it.

Each says the ends of its time as values ($2, $3; $6 and $7 reach beyond), because by them parts
are left out of the plan.
"""


def _ways() -> str:
    named = {"table": "<table>", "row": "int8send(sample.series_id) || <reading>"}
    return "\n".join(
        f"        WHEN '{way}' THEN $way${words.format(**named, reading='<reading>')}$way$"
        for way, words in WAYS.items()
    )


READ = f"""
CREATE FUNCTION ingest_read_samples(
    way text, parent text, columns text[], series bigint[],
    since timestamptz, until timestamptz, reach interval, most integer
) RETURNS TABLE (series_id bigint, readings bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    words text := CASE way
{_ways()}
    END;
    reading text := 'timestamptz_send(sample.time)';
    name text;
    {DECLARED}
BEGIN
    {CHECK}
    {SEEN}
    FOREACH name IN ARRAY columns LOOP
        reading := reading || format(' || int8send(coalesce(sample.%I, -1))', name);
    END LOOP;
    RETURN QUERY EXECUTE replace(replace(words, '<reading>', reading), '<table>', parent)
        USING seen, since, until, reach, most, since - reach, until + reach / 2;
END $$
"""
TOLD = f"""
CREATE FUNCTION ingest_told_last(parent text, columns text[], series bigint[])
RETURNS TABLE (series_id bigint, told bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    {DECLARED}
BEGIN
    {CHECK}
    {SEEN}
    RETURN QUERY EXECUTE format(
        'SELECT sample.series_id, ARRAY[%s]::bigint[] FROM ingest_series AS series JOIN %I AS sample'
        ' ON sample.series_id = series.id AND sample.time = series.last_sample_at'
        ' WHERE series.id = ANY ($1)',
        (SELECT string_agg(format('sample.%I', name), ', ' ORDER BY place)
           FROM unnest(columns) WITH ORDINALITY AS own(name, place)), parent
    ) USING seen;
END $$
"""
BEFORE = f"""
CREATE FUNCTION ingest_samples_before(
    parent text, told text, series bigint[], times timestamptz[], reach interval, is_at boolean
) RETURNS TABLE (place bigint, at timestamptz, value bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    {DECLARED}
BEGIN
    {CHECK}
    {SEEN}
    RETURN QUERY EXECUTE format(
        'SELECT asked.place, found.time, found.value'
        '  FROM unnest($1, $2) WITH ORDINALITY AS asked(id, time, place)'
        ' CROSS JOIN LATERAL ('
        '    SELECT stored.time, stored.%1$I::bigint AS value FROM %2$I AS stored'
        '     WHERE stored.series_id = asked.id AND stored.%1$I IS NOT NULL'
        '       AND stored.time <= asked.time AND ($4 OR stored.time < asked.time)'
        '       AND stored.time >= asked.time - $3'
        -- Of all times, so that other partitions are not planned for.
        '       AND stored.time BETWEEN $5 AND $6'
        '     ORDER BY stored.time DESC LIMIT 1'
        ' ) AS found WHERE asked.id = ANY ($7)',
        told, parent
    ) USING series, times, reach, is_at,
            (SELECT min(one) FROM unnest(times) AS one) - reach,
            (SELECT max(one) FROM unnest(times) AS one),
            seen;
END $$
"""
# A session may make what has this name itself, whose expressions would run with these rights.
OURS = """
    IF NOT EXISTS (
        SELECT FROM pg_class WHERE oid = to_regclass('pg_temp.' || staged) AND relkind = 'r'
           AND relowner = current_user::regrole AND NOT relhastriggers AND NOT relhasrules
    ) THEN
        RAISE EXCEPTION 'pg_temp.% is not the table of this function', staged;
    END IF;
"""
STAGE = f"""
CREATE FUNCTION ingest_stage_samples(parent text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    staged text := replace(parent, 'ingest_', 'staged_');
BEGIN
    {CHECK}
    IF to_regclass('pg_temp.' || staged) IS NULL THEN
        EXECUTE format(
            'CREATE TEMPORARY TABLE %I (LIKE %I) ON COMMIT DELETE ROWS', staged, parent
        );
        -- Only this session has the table.
        EXECUTE format('GRANT INSERT ON pg_temp.%I TO PUBLIC', staged);
    END IF;
    {OURS}
END $$
"""
# A row that stays as it is is not written again; rows are locked in order.
UNITE = f"""
CREATE FUNCTION ingest_unite_samples(parent text, columns text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
    staged text := replace(parent, 'ingest_', 'staged_');
    words record;
    changed bigint;
BEGIN
    {CHECK}
    {OURS}
    SELECT string_agg(format('%I', name), ', ' ORDER BY place) AS names,
           string_agg(format('stored.%I', name), ', ' ORDER BY place) AS stored,
           string_agg(format('coalesce(excluded.%1$I, stored.%1$I)', name), ', ' ORDER BY place)
               AS united,
           string_agg(
               format('%1$I = coalesce(excluded.%1$I, stored.%1$I)', name), ', ' ORDER BY place
           ) AS assigned
      INTO words FROM unnest(columns) WITH ORDINALITY AS own(name, place);
    EXECUTE format(
        'INSERT INTO %1$I AS stored (series_id, time, %3$s)'
        ' SELECT series_id, time, %3$s FROM pg_temp.%2$I ORDER BY series_id, time'
        ' ON CONFLICT (series_id, time) DO UPDATE SET %6$s'
        ' WHERE (%4$s) IS DISTINCT FROM (%5$s)',
        parent, staged,
        words.names, words.stored, words.united, words.assigned
    );
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END $$
"""
FUNCTIONS = {
    "ingest_read_samples(text, text, text[], bigint[], timestamptz, timestamptz, interval, integer)": READ,
    "ingest_told_last(text, text[], bigint[])": TOLD,
    "ingest_samples_before(text, text, bigint[], timestamptz[], interval, boolean)": BEFORE,
    "ingest_stage_samples(text)": STAGE,
    "ingest_unite_samples(text, text[])": UNITE,
}


def create(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        for name, text in FUNCTIONS.items():
            cursor.execute(text.replace("SCHEMA", schema))
            # Everybody may call a new function.
            cursor.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC")


def drop(_: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        for name in FUNCTIONS:
            cursor.execute(f"DROP FUNCTION {name}")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0022_hold_series")]

    operations = [migrations.RunPython(create, drop)]
