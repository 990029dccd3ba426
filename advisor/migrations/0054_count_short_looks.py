"""In how many short looks at a disk's group its limit was used up, from which bursts are told."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0053_add_incident_notes")]

    operations = [
        migrations.AddField(
            model_name="compliancerecord",
            name=name,
            field=models.PositiveIntegerField(null=True),
        )
        for name in ("short_looks", "full_looks")
    ]
