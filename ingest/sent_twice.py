"""What two collectors send about one thing of a host: one counts, and nothing is added.

Tags tell the series of collectors apart. In each window the newest series that is known counts;
the others only fill in where it is not. Collectors that send the same tags share one series.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from django.db import connection

from ingest.core.figures import FIGURE_KINDS
from ingest.models import Host

SENDS = timedelta(minutes=5)
"""What a host has not sent for so long before its last sample is not sent any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """By which series something is sent; `tags` are those beside host and name."""

    source: str
    tags: Mapping[str, str]

    def __str__(self) -> str:
        tags = ", ".join(f"{name}={value}" for name, value in sorted(self.tags.items()))
        return f"{self.source or 'an earlier version'} ({tags or 'no further tags'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTwice:
    """One thing of a host; `counted` is the sender whose figures are used, `others` are not.

    `device` is empty except for cgroups.
    """

    measurement: str
    subject: str
    device: str
    counted: Sender
    others: tuple[Sender, ...]

    @property
    def what(self) -> str:
        """What it is, for people."""
        return f"{self.subject} on {self.device}" if self.device else self.subject or "the host"


def sent_twice(hosts: Iterable[Host]) -> dict[int, list[SentTwice]]:
    """What these hosts send by several series at the same time, by the key of the host."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SERIES,
            {
                "hosts": [host.pk for host in hosts],
                "measurements": sorted({kind.measurement.name for kind in FIGURE_KINDS}),
                "by_device": sorted({k.measurement.name for k in FIGURE_KINDS if k.by_device}),
                "sends_s": SENDS.total_seconds(),
            },
        )
        rows = cursor.fetchall()
    found: dict[int, list[SentTwice]] = defaultdict(list)
    for (host, measurement, subject, device), own in groupby(rows, key=itemgetter(0, 1, 2, 3)):
        newest, *older = (_Series(row[4], json.loads(row[5]), *row[6:]) for row in own)
        # Where the tags changed, the former series ended before the new one began.
        others = [one for one in older if one.last > newest.first]
        if others:
            found[host].append(
                SentTwice(
                    measurement=measurement,
                    subject=subject,
                    device=device,
                    counted=_sender(newest, subject, device),
                    others=tuple(_sender(one, subject, device) for one in others),
                )
            )
    return dict(found)


class _Series(NamedTuple):
    source: str
    tags: Mapping[str, str]
    first: datetime
    last: datetime


def _sender(one: _Series, subject: str, device: str) -> Sender:
    """The sender of a series, with the tags that tell it from others of the same thing."""
    tags = {
        name: value
        for name, value in one.tags.items()
        if name != "host" and value not in {subject, device}
    }
    return Sender(source=one.source, tags=tags)


_SERIES = """
    WITH live AS (
        SELECT series.*,
               CASE WHEN series.measurement = ANY(%(by_device)s)
                    THEN coalesce(series.tags ->> 'device', '') ELSE '' END AS device
          FROM ingest_series AS series JOIN ingest_host AS host ON host.id = series.host_id
         WHERE series.host_id = ANY(%(hosts)s) AND series.measurement = ANY(%(measurements)s)
           AND series.last_sample_at >= host.last_sample_at - make_interval(secs => %(sends_s)s)
    ), several AS (
        SELECT host_id, measurement, subject, device FROM live
         GROUP BY host_id, measurement, subject, device HAVING count(*) > 1
    )
    SELECT host_id, measurement, subject, device, source, tags::text,
           first_sample_at, last_sample_at
      FROM live JOIN several USING (host_id, measurement, subject, device)
     ORDER BY host_id, measurement, subject, device, id DESC
"""
