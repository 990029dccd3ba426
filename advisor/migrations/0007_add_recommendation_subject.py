from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("advisor", "0006_add_prediction_score"),
    ]

    operations = [
        migrations.AddField(
            model_name="recommendation",
            name="subject",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Whose limits are meant; empty for other topics",
                max_length=200,
            ),
        ),
    ]
