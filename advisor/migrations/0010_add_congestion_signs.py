"""The signs of congestion of a window, and of an episode over all its windows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0009_add_queue_facts")]

    operations = [
        migrations.AddField("statepoint", "signs", models.JSONField(default=list)),
        migrations.AddField("episode", "signs", models.JSONField(default=list)),
    ]
