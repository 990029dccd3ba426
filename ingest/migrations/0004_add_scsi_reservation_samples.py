"""The sample table of SCSI reservation conflicts."""

from django.db import migrations

from ingest.migrations._sample_table import integers, sample_table


class Migration(migrations.Migration):
    dependencies = [("ingest", "0003_add_sample_tables")]

    operations = sample_table(
        "ScsiReservationSample",
        "ingest_scsi_reservation_sample",
        integers("commands", "conflicts"),
    )
