"""The column of I/Os in flight; samples from before have none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0008_refer_to_accounts")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE ingest_diskio_sample ADD COLUMN iops_in_progress bigint",
            "ALTER TABLE ingest_diskio_sample DROP COLUMN iops_in_progress",
            # The table is unmanaged, so Django would change only what it believes.
            state_operations=[
                migrations.AddField(
                    model_name="diskiosample",
                    name="iops_in_progress",
                    field=models.BigIntegerField(null=True),
                )
            ],
        )
    ]
