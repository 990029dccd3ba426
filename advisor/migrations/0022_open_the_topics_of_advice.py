"""A new kind of advice is a folder and a line of the registry, not a migration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0021_add_allocation_selector")]

    operations = [
        migrations.AlterField(
            model_name="recommendation",
            name="topic",
            field=models.CharField(default="policy", max_length=20),
        ),
    ]
