from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("advisor", "0007_add_recommendation_subject"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="recommendation",
            name="one_open_recommendation_per_topic",
        ),
        migrations.AddConstraint(
            model_name="recommendation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "proposed")),
                fields=("resource", "topic", "subject"),
                name="one_open_recommendation_per_subject",
            ),
        ),
    ]
