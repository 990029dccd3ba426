"""Answers under an Idempotency-Key are kept for a day."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_tokens_of_people'),
    ]

    operations = [
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('asked', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(default=0)),
                ('headers', models.JSONField(default=dict)),
                ('body', models.TextField(blank=True)),
                ('created_at', models.DateTimeField()),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
                ('token', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.token')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('token', 'key'), name='one_answer_per_key')],
            },
        ),
    ]
