"""Tracks, shards and members, and the partitioned tables of chunks, quarters and days.

Their partitions, one per organisation and in it one per day, month or year, are made when they
are written to (`advisor.history.stored.partitions`). No edition of TimescaleDB is needed.
"""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


TABLES = """
CREATE TABLE advisor_history_chunk (
    organisation_id integer NOT NULL, shard_id integer NOT NULL, figure smallint NOT NULL,
    at timestamptz NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (organisation_id, shard_id, figure, at)
) PARTITION BY LIST (organisation_id);
-- The bytes are compressed already.
ALTER TABLE advisor_history_chunk ALTER data SET STORAGE EXTERNAL;
CREATE TABLE advisor_history_quarter (
    organisation_id integer NOT NULL, track_id integer NOT NULL, at timestamptz NOT NULL,
    mean real[] NOT NULL, maximum real[] NOT NULL,
    PRIMARY KEY (organisation_id, track_id, at)
) PARTITION BY LIST (organisation_id);
CREATE TABLE advisor_history_day (
    organisation_id integer NOT NULL, track_id integer NOT NULL, figure smallint NOT NULL,
    day date NOT NULL, mean real NOT NULL, maximum real NOT NULL, histogram bytea NOT NULL,
    PRIMARY KEY (organisation_id, track_id, figure, day)
) PARTITION BY LIST (organisation_id);
ALTER TABLE advisor_history_day ALTER histogram SET STORAGE MAIN;
"""
NO_TABLES = "DROP TABLE advisor_history_chunk, advisor_history_quarter, advisor_history_day"

# Places count from 1 and are those of `ingest.core.canonical_figures.FIGURES`; a test compares.
VIEW = """
CREATE VIEW history_15min AS
SELECT organisation.slug AS organisation, host.name AS host, resource.name AS resource,
       track.kind, track.subject, track.device, track.id AS track_id,
       figure.name AS figure, figure.unit, quarter.at,
       quarter.mean[figure.place] AS mean, quarter.maximum[figure.place] AS maximum
  FROM advisor_history_quarter AS quarter
  JOIN advisor_track AS track ON track.id = quarter.track_id
  JOIN accounts_organisation AS organisation ON organisation.id = track.organisation_id
  LEFT JOIN ingest_host AS host ON host.id = track.host_id
  LEFT JOIN advisor_resource AS resource ON resource.id = track.resource_id
  JOIN (VALUES
    ('disk', 1, 'reads', 'I/Os/s'),
    ('disk', 2, 'writes', 'I/Os/s'),
    ('disk', 3, 'read_bytes', 'bytes/s'),
    ('disk', 4, 'write_bytes', 'bytes/s'),
    ('disk', 5, 'read_time', 'ms/s'),
    ('disk', 6, 'write_time', 'ms/s'),
    ('disk', 7, 'io_time', 'ms/s'),
    ('disk', 8, 'weighted_io_time', 'ms/s'),
    ('disk', 9, 'in_flight', 'I/Os'),
    ('cgroup', 1, 'reads', 'I/Os/s'),
    ('cgroup', 2, 'writes', 'I/Os/s'),
    ('cgroup', 3, 'read_bytes', 'bytes/s'),
    ('cgroup', 4, 'write_bytes', 'bytes/s'),
    ('pressure', 1, 'some_total', 'µs/s'),
    ('pressure', 2, 'full_total', 'µs/s'),
    ('interface', 1, 'bytes_sent', 'bytes/s'),
    ('interface', 2, 'bytes_received', 'bytes/s'),
    ('interface', 3, 'packets_sent', 'packets/s'),
    ('interface', 4, 'packets_received', 'packets/s'),
    ('interface', 5, 'drops_in', 'packets/s'),
    ('interface', 6, 'drops_out', 'packets/s'),
    ('interface', 7, 'errors_in', 'packets/s'),
    ('interface', 8, 'errors_out', 'packets/s'),
    ('tcp', 1, 'segments', 'segments/s'),
    ('tcp', 2, 'retransmits', 'segments/s'),
    ('reservation', 1, 'commands', 'commands/s'),
    ('reservation', 2, 'conflicts', 'commands/s'),
    ('resource', 1, 'level', 'ms or ratio'),
    ('resource', 2, 'load', 'of the resource')
  ) AS figure(kind, place, name, unit) ON figure.kind = track.kind
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_remove_scopes_without_use'),
        ('advisor', '0025_keep_failed_work'),
        ('ingest', '0011_add_open_hours'),
    ]

    operations = [
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('pk', models.CompositePrimaryKey('organisation_id', 'shard_id', 'figure', 'at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('organisation_id', models.IntegerField()),
                ('shard_id', models.IntegerField()),
                ('figure', models.PositiveSmallIntegerField()),
                ('at', models.DateTimeField()),
                ('data', models.BinaryField()),
            ],
            options={
                'db_table': 'advisor_history_chunk',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Day',
            fields=[
                ('pk', models.CompositePrimaryKey('organisation_id', 'track_id', 'figure', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('organisation_id', models.IntegerField()),
                ('track_id', models.IntegerField()),
                ('figure', models.PositiveSmallIntegerField()),
                ('day', models.DateField()),
                ('mean', models.FloatField()),
                ('maximum', models.FloatField()),
                ('histogram', models.BinaryField()),
            ],
            options={
                'db_table': 'advisor_history_day',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Quarter',
            fields=[
                ('pk', models.CompositePrimaryKey('organisation_id', 'track_id', 'at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('organisation_id', models.IntegerField()),
                ('track_id', models.IntegerField()),
                ('at', models.DateTimeField()),
                ('mean', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(null=True), size=None)),
                ('maximum', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(null=True), size=None)),
            ],
            options={
                'db_table': 'advisor_history_quarter',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='HistoryRetention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('exact_days', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('quarter_days', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('day_days', models.PositiveIntegerField(validators=[django.core.validators.MinValueValidator(1)])),
                ('organisation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='history_retention', to='accounts.organisation')),
            ],
        ),
        migrations.CreateModel(
            name='Shard',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=12)),
                ('width', models.PositiveSmallIntegerField(default=0)),
                ('newest_hour', models.DateTimeField(blank=True, null=True)),
                ('host', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='shards', to='ingest.host')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
                ('resource', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='shards', to='advisor.resource')),
            ],
            options={
                'ordering': ['organisation', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Track',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=12)),
                ('subject', models.CharField(blank=True, max_length=1024)),
                ('device', models.CharField(blank=True, help_text='Of a cgroup: its number, major:minor', max_length=255)),
                ('host', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tracks', to='ingest.host')),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
                ('resource', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tracks', to='advisor.resource')),
            ],
            options={
                'ordering': ['host', 'kind', 'subject', 'device'],
            },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('column', models.PositiveSmallIntegerField()),
                ('since', models.DateTimeField()),
                ('shard', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='advisor.shard')),
                ('track', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='advisor.track')),
            ],
            options={
                'ordering': ['track', 'since'],
            },
        ),
        migrations.CreateModel(
            name='StaleDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
            ],
            options={
                'ordering': ['organisation', 'day'],
                'constraints': [models.UniqueConstraint(fields=('organisation', 'day'), name='stale_day_is_unique')],
            },
        ),
        migrations.AddConstraint(
            model_name='track',
            constraint=models.UniqueConstraint(fields=('host', 'kind', 'subject', 'device'), name='track_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='track',
            constraint=models.UniqueConstraint(fields=('resource',), name='one_track_per_resource'),
        ),
        migrations.AddConstraint(
            model_name='track',
            constraint=models.CheckConstraint(condition=models.Q(('host', None), ('resource', None), _connector='XOR'), name='track_is_of_a_host_or_a_resource'),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.UniqueConstraint(fields=('track', 'since'), name='one_place_per_track_and_hour'),
        ),
        migrations.RunSQL(TABLES, NO_TABLES),
        migrations.RunSQL(VIEW, "DROP VIEW history_15min"),
    ]
