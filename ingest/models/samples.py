"""The sample tables: one row per series and time, counters as the host sent them.

The migrations create the tables, because Django cannot express partitions; so these models are
unmanaged. Columns carry the field names of `ingest.core.catalogue`, which also says their units.
"""

from __future__ import annotations

from django.db import models

from ingest.models.series import Series


class Sample(models.Model):
    """What every sample table has: its identity, which makes a repeated write harmless."""

    pk = models.CompositePrimaryKey("series_id", "time")
    # The database holds no constraint: a check per row would halve the rate of ingest. The write
    # locks the series it adds to instead, and this cascade deletes the samples with the series.
    series = models.ForeignKey(
        Series, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    time = models.DateTimeField()

    objects = models.Manager()

    class Meta:
        abstract = True
        managed = False

    def __str__(self) -> str:
        return f"{self.series_id} at {self.time}"


class DiskioSample(Sample):
    reads = models.BigIntegerField(null=True)
    writes = models.BigIntegerField(null=True)
    read_bytes = models.BigIntegerField(null=True)
    write_bytes = models.BigIntegerField(null=True)
    read_time = models.BigIntegerField(null=True)
    write_time = models.BigIntegerField(null=True)
    io_time = models.BigIntegerField(null=True)
    weighted_io_time = models.BigIntegerField(null=True)
    iops_in_progress = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_diskio_sample"


class NetSample(Sample):
    bytes_sent = models.BigIntegerField(null=True)
    bytes_recv = models.BigIntegerField(null=True)
    packets_sent = models.BigIntegerField(null=True)
    packets_recv = models.BigIntegerField(null=True)
    drop_in = models.BigIntegerField(null=True)
    drop_out = models.BigIntegerField(null=True)
    err_in = models.BigIntegerField(null=True)
    err_out = models.BigIntegerField(null=True)
    speed = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_net_sample"


class CgroupSample(Sample):
    rios = models.BigIntegerField(null=True)
    wios = models.BigIntegerField(null=True)
    rbytes = models.BigIntegerField(null=True)
    wbytes = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_cgroup_sample"


class CgroupPressureSample(Sample):
    some_total = models.BigIntegerField(null=True)
    full_total = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_cgroup_pressure_sample"


class SystemSample(Sample):
    load1 = models.FloatField(null=True)
    load5 = models.FloatField(null=True)
    load15 = models.FloatField(null=True)
    n_cpus = models.BigIntegerField(null=True)
    uptime = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_system_sample"


class ScsiReservationSample(Sample):
    commands = models.BigIntegerField(null=True)
    conflicts = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_scsi_reservation_sample"


class NstatSample(Sample):
    TcpOutSegs = models.BigIntegerField(null=True)
    TcpRetransSegs = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_nstat_sample"


class BlockDeviceSample(Sample):
    major = models.BigIntegerField(null=True)
    minor = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_block_device_sample"


class CollectorSample(Sample):
    metrics_written = models.BigIntegerField(null=True)
    metrics_dropped = models.BigIntegerField(null=True)
    metrics_rejected = models.BigIntegerField(null=True)
    buffer_size = models.BigIntegerField(null=True)
    errors = models.BigIntegerField(null=True)

    class Meta(Sample.Meta):
        abstract = False
        db_table = "ingest_collector_sample"
