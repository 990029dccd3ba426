"""Quarters of resources: the level that was compared with the threshold, and the load."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from accounts.models import Organisation
from advisor.models import Resource, StatePoint, Track
from ingest.core.canonical_figures import RESOURCE
from ingest.open_hours import HOUR


def write_level_quarters(organisation: Organisation, hour: datetime) -> None:
    """Write the quarters of this hour from the windows that were evaluated; safe to repeat."""
    judged = StatePoint.objects.filter(
        resource__organisation=organisation, at__gt=hour, at__lte=hour + HOUR
    )
    resources = Resource.objects.filter(pk__in=judged.values("resource"), tracks=None)
    Track.objects.bulk_create(
        [Track(organisation=organisation, resource=one, kind=RESOURCE) for one in resources],
        ignore_conflicts=True,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO advisor_history_quarter AS stored
                   (organisation_id, track_id, at, mean, maximum)
            SELECT track.organisation_id, track.id, quarter.at,
                   ARRAY[avg(point.value)::real, avg(point.load)::real],
                   ARRAY[max(point.value)::real, max(point.load)::real]
              FROM advisor_track AS track
              JOIN advisor_statepoint AS point ON point.resource_id = track.resource_id
              JOIN generate_series(%(hour)s, %(hour)s + interval '45 minutes',
                                   interval '15 minutes') AS quarter(at)
                ON point.at > quarter.at AND point.at <= quarter.at + interval '15 minutes'
             WHERE track.organisation_id = %(organisation)s
               AND point.at > %(hour)s AND point.at <= %(hour)s + interval '1 hour'
             GROUP BY track.organisation_id, track.id, quarter.at
            HAVING count(point.value) + count(point.load) > 0
                ON CONFLICT (organisation_id, track_id, at)
                DO UPDATE SET mean = excluded.mean, maximum = excluded.maximum
            """,
            {"hour": hour, "organisation": organisation.pk},
        )
