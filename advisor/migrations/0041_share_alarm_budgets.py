import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_add_quotas'),
        ('advisor', '0040_give_baselines_a_budget'),
    ]

    operations = [
        migrations.AddField(
            model_name='resource',
            name='shares_alarm_budget',
            field=models.BooleanField(db_default=True, default=True, help_text="Has a part of the organisation's budget of false alarms, where there is one"),
        ),
        migrations.CreateModel(
            name='SharedAlarmBudget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('alarms_per_week', models.FloatField(validators=[django.core.validators.MinValueValidator(0.01)])),
                ('organisation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='shared_alarm_budget', to='accounts.organisation')),
            ],
        ),
    ]
