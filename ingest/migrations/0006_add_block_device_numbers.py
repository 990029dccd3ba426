"""The sample table of the numbers of block devices, made like the other sample tables."""

import django.db.models.deletion
from django.db import migrations, models

TABLE = "ingest_block_device_sample"


def create_table(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb')")
        (timescaledb,) = cursor.fetchone()
        cursor.execute(
            f"CREATE TABLE {TABLE} (series_id bigint NOT NULL, time timestamptz NOT NULL,"
            " major bigint, minor bigint, PRIMARY KEY (series_id, time))"
            + ("" if timescaledb else " PARTITION BY RANGE (time)")
        )
        if timescaledb:
            cursor.execute(
                "SELECT create_hypertable(%s, by_range('time', INTERVAL '1 day'),"
                " create_default_indexes => false)",
                [TABLE],
            )


def drop_table(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {TABLE}")


class Migration(migrations.Migration):
    dependencies = [("ingest", "0005_add_tcp_samples")]

    operations = [
        migrations.RunPython(create_table, drop_table),
        migrations.CreateModel(
            name="BlockDeviceSample",
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
                ("major", models.BigIntegerField(null=True)),
                ("minor", models.BigIntegerField(null=True)),
            ],
            options={"db_table": TABLE, "managed": False, "abstract": False},
        ),
    ]
