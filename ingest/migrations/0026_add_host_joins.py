"""Which hosts joined by a token, and what they said of themselves."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0015_add_join_tokens'),
        ('ingest', '0025_export_samples_by_function'),
    ]

    operations = [
        migrations.CreateModel(
            name='HostJoin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('address', models.CharField(blank=True, max_length=45)),
                ('clock_ahead_s', models.FloatField(blank=True, null=True)),
                ('said', models.JSONField(default=dict)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='joins', to='ingest.host')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
                ('token', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='joins', to='accounts.jointoken')),
            ],
            options={
                'ordering': ['token', '-at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('token', 'host'), name='host_joins_once_by_a_token')],
            },
        ),
    ]
