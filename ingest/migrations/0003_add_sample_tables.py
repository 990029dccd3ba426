"""One table per measurement."""

from django.db import migrations

from ingest.migrations._sample_table import floats, integers, sample_table


class Migration(migrations.Migration):
    dependencies = [("ingest", "0002_add_timescaledb_where_offered")]

    operations = [
        *sample_table(
            "DiskioSample",
            "ingest_diskio_sample",
            integers("reads", "writes", "read_bytes", "write_bytes")
            | integers("read_time", "write_time", "io_time", "weighted_io_time"),
        ),
        *sample_table(
            "NetSample",
            "ingest_net_sample",
            integers("bytes_sent", "bytes_recv", "packets_sent", "packets_recv")
            | integers("drop_in", "drop_out", "err_in", "err_out", "speed"),
        ),
        *sample_table(
            "CgroupSample", "ingest_cgroup_sample", integers("rios", "wios", "rbytes", "wbytes")
        ),
        *sample_table(
            "CgroupPressureSample",
            "ingest_cgroup_pressure_sample",
            integers("some_total", "full_total"),
        ),
        *sample_table(
            "SystemSample",
            "ingest_system_sample",
            floats("load1", "load5", "load15") | integers("n_cpus", "uptime"),
        ),
        *sample_table(
            "CollectorSample",
            "ingest_collector_sample",
            integers("metrics_written", "metrics_dropped", "metrics_rejected")
            | integers("buffer_size", "errors"),
        ),
    ]
