"""The sample table of the numbers of block devices."""

from django.db import migrations

from ingest.migrations._sample_table import integers, sample_table


class Migration(migrations.Migration):
    dependencies = [("ingest", "0005_add_tcp_samples")]

    operations = sample_table(
        "BlockDeviceSample", "ingest_block_device_sample", integers("major", "minor")
    )
