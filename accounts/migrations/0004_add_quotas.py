"""An organisation may have quotas of its own."""

from django.db import migrations, models

NAMES = ("quota_points_per_s", "quota_bytes_per_s", "quota_series", "quota_hosts")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_add_metrics_scope")]

    operations = [
        migrations.AddField(
            "organisation", name, models.PositiveBigIntegerField(blank=True, null=True)
        )
        for name in NAMES
    ]
