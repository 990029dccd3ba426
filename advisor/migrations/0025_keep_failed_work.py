"""Scheduled work that failed is kept with its reason, and shown."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_remove_scopes_without_use'),
        ('advisor', '0024_incident_tally'),
    ]

    operations = [
        migrations.CreateModel(
            name='FailedWork',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task', models.CharField(max_length=100)),
                ('reason', models.TextField()),
                ('first_at', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
                ('times', models.PositiveIntegerField(default=1)),
                ('solved_at', models.DateTimeField(blank=True, null=True)),
                ('organisation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='failed_work', to='accounts.organisation')),
                ('recommendation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='advisor.recommendation')),
                ('resource', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='advisor.resource')),
            ],
            options={
                'verbose_name_plural': 'failed work',
                'ordering': ['-last_at', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('task', 'organisation', 'resource', 'recommendation'), name='failed_work_once_per_subject', nulls_distinct=False)],
            },
        ),
    ]
