"""Canonical tables for what hypervisors, NFS clients and iocost count, and for what has no figure.

Series know who sent them, and whether their numbers are totals or rates. Measurements that no
source knows are counted for each host.
"""

import django.db.models.deletion
from django.db import migrations, models

from ingest.migrations._sample_table import floats, integers, sample_table

SIX_HOURS = "6 hours"


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_take_over_from_ingest"),
        ("ingest", "0016_find_samples_by_time"),
    ]

    operations = [
        *sample_table(
            "CgroupCostSample",
            "ingest_cgroup_cost_sample",
            integers(
                "discards",
                "discard_bytes",
                "cost_usage",
                "cost_wait",
                "cost_indebt",
                "cost_indelay",
            ),
            chunk=SIX_HOURS,
        ),
        *sample_table(
            "MountSample",
            "ingest_mount_sample",
            integers(
                "read_rtt",
                "write_rtt",
                "read_queue",
                "write_queue",
                "read_retransmits",
                "write_retransmits",
            ),
            chunk=SIX_HOURS,
        ),
        *sample_table(
            "VdiskSample",
            "ingest_vdisk_sample",
            integers(
                "reads",
                "writes",
                "read_time",
                "write_time",
                "flushes",
                "flush_time",
                "in_flight",
            ),
            chunk=SIX_HOURS,
        ),
        *sample_table("GaugeSample", "ingest_gauge_sample", floats("value"), chunk=SIX_HOURS),
        migrations.AddField(
            "series", "source", models.CharField(blank=True, default="", max_length=32)
        ),
        migrations.AddField(
            "series",
            "form",
            models.CharField(
                choices=[("counter", "counter"), ("rate", "rate")],
                default="counter",
                max_length=8,
            ),
        ),
        migrations.CreateModel(
            name="UnknownMeasurement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("host", models.CharField(blank=True, max_length=253)),
                ("measurement", models.CharField(max_length=64)),
                ("lines", models.PositiveBigIntegerField()),
                ("first_sent_at", models.DateTimeField()),
                ("last_sent_at", models.DateTimeField()),
                (
                    "organisation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.organisation",
                    ),
                ),
            ],
            options={
                "ordering": ["organisation", "host", "measurement"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organisation", "host", "measurement"),
                        name="unknown_measurement_is_unique",
                    )
                ],
            },
        ),
    ]
