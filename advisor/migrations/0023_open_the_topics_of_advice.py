"""A new kind of advice is a folder and a line of the registry, not a migration."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0022_take_kinds_of_resource_from_the_registry")]

    operations = [
        migrations.AlterField(
            model_name="recommendation",
            name="topic",
            field=models.CharField(default="policy", max_length=20),
        ),
    ]
