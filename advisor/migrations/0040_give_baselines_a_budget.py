import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    # Its number before others were left out.
    replaces = [('advisor', '0043_give_baselines_a_budget')]

    dependencies = [
        ('advisor', '0039_keep_rates_of_hosts'),
    ]

    operations = [
        migrations.AddField(
            model_name='resource',
            name='alarms_per_week',
            field=models.FloatField(
                blank=True,
                null=True,
                default=1.0,
                db_default=1.0,
                help_text='False alarms that a baseline may raise; empty for the percentile alone',
                validators=[django.core.validators.MinValueValidator(0.01)],
            ),
        ),
    ]
