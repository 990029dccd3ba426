"""One table per measurement: a hypertable where TimescaleDB is installed, else partitioned by day.

The primary key makes a repeated write harmless and is the only index: every question names its
series. Partitions of the native tables are made by `ingest.partitions`.
"""

import django.db.models.deletion
from django.db import migrations, models

COLUMNS = {
    "ingest_diskio_sample": """
        reads bigint, writes bigint, read_bytes bigint, write_bytes bigint,
        read_time bigint, write_time bigint, io_time bigint, weighted_io_time bigint
    """,
    "ingest_net_sample": """
        bytes_sent bigint, bytes_recv bigint, packets_sent bigint, packets_recv bigint,
        drop_in bigint, drop_out bigint, err_in bigint, err_out bigint, speed bigint
    """,
    "ingest_cgroup_sample": "rios bigint, wios bigint, rbytes bigint, wbytes bigint",
    "ingest_cgroup_pressure_sample": "some_total bigint, full_total bigint",
    "ingest_system_sample": """
        load1 double precision, load5 double precision, load15 double precision,
        n_cpus bigint, uptime bigint
    """,
    "ingest_collector_sample": """
        metrics_written bigint, metrics_dropped bigint, metrics_rejected bigint,
        buffer_size bigint, errors bigint
    """,
}


def create_tables(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb')")
        (timescaledb,) = cursor.fetchone()
        for table, columns in COLUMNS.items():
            cursor.execute(
                f"CREATE TABLE {table} (series_id bigint NOT NULL, time timestamptz NOT NULL,"
                f" {columns}, PRIMARY KEY (series_id, time))"
                + ("" if timescaledb else " PARTITION BY RANGE (time)")
            )
            if timescaledb:
                cursor.execute(
                    "SELECT create_hypertable(%s, by_range('time', INTERVAL '1 day'),"
                    " create_default_indexes => false)",
                    [table],
                )


def drop_tables(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        for table in COLUMNS:
            cursor.execute(f"DROP TABLE {table}")


def sample_model(name, table, *fields):
    return migrations.CreateModel(
        name=name,
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "series_id",
                    "time",
                    blank=True,
                    editable=False,
                    primary_key=True,
                    serialize=False,
                ),
            ),
            (
                "series",
                models.ForeignKey(
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="+",
                    to="ingest.series",
                ),
            ),
            ("time", models.DateTimeField()),
            *fields,
        ],
        options={"db_table": table, "managed": False, "abstract": False},
    )


def integers(*names):
    return [(name, models.BigIntegerField(null=True)) for name in names]


def floats(*names):
    return [(name, models.FloatField(null=True)) for name in names]


class Migration(migrations.Migration):
    dependencies = [("ingest", "0002_add_timescaledb_where_offered")]

    operations = [
        migrations.RunPython(create_tables, drop_tables),
        sample_model(
            "DiskioSample",
            "ingest_diskio_sample",
            *integers("reads", "writes", "read_bytes", "write_bytes"),
            *integers("read_time", "write_time", "io_time", "weighted_io_time"),
        ),
        sample_model(
            "NetSample",
            "ingest_net_sample",
            *integers("bytes_sent", "bytes_recv", "packets_sent", "packets_recv"),
            *integers("drop_in", "drop_out", "err_in", "err_out", "speed"),
        ),
        sample_model(
            "CgroupSample", "ingest_cgroup_sample", *integers("rios", "wios", "rbytes", "wbytes")
        ),
        sample_model(
            "CgroupPressureSample",
            "ingest_cgroup_pressure_sample",
            *integers("some_total", "full_total"),
        ),
        sample_model(
            "SystemSample",
            "ingest_system_sample",
            *floats("load1", "load5", "load15"),
            *integers("n_cpus", "uptime"),
        ),
        sample_model(
            "CollectorSample",
            "ingest_collector_sample",
            *integers("metrics_written", "metrics_dropped", "metrics_rejected"),
            *integers("buffer_size", "errors"),
        ),
    ]
