"""The sample table of TCP segments and retransmits."""

from django.db import migrations

from ingest.migrations._sample_table import integers, sample_table


class Migration(migrations.Migration):
    dependencies = [("ingest", "0004_add_scsi_reservation_samples")]

    operations = sample_table(
        "NstatSample", "ingest_nstat_sample", integers("TcpOutSegs", "TcpRetransSegs")
    )
