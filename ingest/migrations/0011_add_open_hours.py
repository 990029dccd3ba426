"""The list of hours of hosts whose samples are not in the history yet.

Samples of before are put on it, so that they are sealed in turn.
"""

import django.db.models.deletion
from django.db import migrations, models


FILL = """
INSERT INTO ingest_openhour (host_id, at)
SELECT host_id, generate_series(date_trunc('hour', begun, 'UTC'), ended, interval '1 hour')
  FROM (SELECT host_id, greatest(min(first_sample_at), now() - interval '30 days') AS begun,
               max(last_sample_at) AS ended
          FROM ingest_series GROUP BY host_id) AS known
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0010_make_partitions_by_function'),
    ]

    operations = [
        migrations.CreateModel(
            name='OpenHour',
            fields=[
                ('pk', models.CompositePrimaryKey('host_id', 'at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingest.host')),
            ],
            options={
                'ordering': ['at', 'host'],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
