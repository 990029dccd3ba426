"""Tenants, hosts, tokens, series and refused lines."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Organisation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['slug'],
            },
        ),
        migrations.CreateModel(
            name='Host',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=253)),
                ('first_seen_at', models.DateTimeField(auto_now_add=True)),
                ('last_sample_at', models.DateTimeField(blank=True, null=True)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hosts', to='ingest.organisation')),
            ],
            options={
                'ordering': ['organisation', 'name'],
            },
        ),
        migrations.CreateModel(
            name='Series',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measurement', models.CharField(max_length=64)),
                ('subject', models.CharField(blank=True, max_length=1024)),
                ('tags', models.JSONField(default=dict)),
                ('tags_key', models.TextField()),
                ('first_sample_at', models.DateTimeField(blank=True, null=True)),
                ('last_sample_at', models.DateTimeField(blank=True, null=True)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='series', to='ingest.host')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='series', to='ingest.organisation')),
            ],
            options={
                'verbose_name_plural': 'series',
                'ordering': ['organisation', 'measurement', 'tags_key'],
            },
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('scope', models.CharField(choices=[('ingest', 'Ingest'), ('enforce', 'Enforce'), ('read', 'Read'), ('write', 'Write')], max_length=10)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('host', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='ingest.host')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='ingest.organisation')),
            ],
            options={
                'ordering': ['organisation', 'name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='RejectedLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('received_at', models.DateTimeField()),
                ('line_number', models.PositiveIntegerField()),
                ('line', models.TextField(help_text='The first part of the line as it was sent')),
                ('reason', models.TextField()),
                ('line_count', models.PositiveIntegerField(default=1, help_text='Lines of the batch that were refused for this reason')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='ingest.organisation')),
                ('token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='ingest.token')),
            ],
            options={
                'ordering': ['-received_at', 'line_number'],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('operator', 'Operator'), ('admin', 'Admin')], default='viewer', max_length=10)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='ingest.organisation')),
            ],
            options={
                'ordering': ['organisation', 'user'],
                'constraints': [models.UniqueConstraint(fields=('organisation', 'user'), name='one_role_per_member')],
            },
        ),
        migrations.AddConstraint(
            model_name='host',
            constraint=models.UniqueConstraint(fields=('organisation', 'name'), name='host_name_is_unique'),
        ),
        migrations.AddIndex(
            model_name='series',
            index=models.Index(fields=['host', 'measurement', 'subject'], name='series_subject'),
        ),
        migrations.AddConstraint(
            model_name='series',
            constraint=models.UniqueConstraint(fields=('organisation', 'measurement', 'tags_key'), name='series_is_unique'),
        ),
        migrations.AddIndex(
            model_name='rejectedline',
            index=models.Index(fields=['organisation', '-received_at'], name='rejected_recent'),
        ),
    ]
