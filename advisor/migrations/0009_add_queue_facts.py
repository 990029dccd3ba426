"""What the agent saw waiting and dropped, beside the rate that it measured."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0008_allow_one_open_recommendation_per_subject")]

    operations = [
        migrations.AddField("compliancerecord", "window_s", models.FloatField(null=True)),
        migrations.AddField(
            "compliancerecord", "sample_count", models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(
            "compliancerecord", "backlogged_samples", models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(
            "compliancerecord", "backlog_bytes", models.BigIntegerField(null=True)
        ),
        migrations.AddField("compliancerecord", "drops", models.BigIntegerField(null=True)),
    ]
