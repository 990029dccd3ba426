"""When quotas were used up."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_add_quotas"), ("ingest", "0019_add_imports")]

    operations = [
        migrations.CreateModel(
            name="QuotaHit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("quota", models.CharField(choices=[("points_per_s", "points_per_s"), ("bytes_per_s", "bytes_per_s"), ("series", "series"), ("hosts", "hosts")], max_length=16)),
                ("refused_bodies", models.PositiveBigIntegerField(default=0)),
                ("lost_points", models.PositiveBigIntegerField(default=0)),
                ("last_hit_at", models.DateTimeField()),
                ("organisation", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.organisation")),
            ],
            options={
                "ordering": ["organisation", "quota"],
                "constraints": [models.UniqueConstraint(fields=("organisation", "quota"), name="quota_hit_is_unique")],
            },
        ),
    ]
