"""What hosts send about and have told last; rates of it are read by `ingest.grid_reader`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Max
from django.db.models.fields.json import KT

from accounts.models import Organisation
from ingest.core.catalogue import BLOCK_DEVICE, CGROUP, NET
from ingest.core.figures import FigureKind
from ingest.core.grid import LONGEST_INTERVAL_S, microseconds
from ingest.core.no_rate import READINGS_TO_JUDGE, why_no_rate
from ingest.grid_reader import Subject, read_newest
from ingest.models import Host, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSubject:
    """Something that a host sends samples about: a device, an interface, a cgroup on a device.

    `device` is empty except for cgroups, whose `subject` is their path.
    """

    host: Host
    subject: str
    device: str
    last_sample_at: datetime | None


def subjects(*, organisation: Organisation, measurement: str) -> list[SentSubject]:
    """Everything that this organisation's hosts have sent this measurement about."""
    hosts = Host.objects.filter(organisation=organisation).in_bulk()
    rows = (
        Series.objects.filter(organisation=organisation, measurement=measurement)
        .values_list("host_id", "host__name", "subject", KT("tags__device"))
        .annotate(latest=Max("last_sample_at"))
        .order_by("host__name", "subject", KT("tags__device"))
    )
    return [
        SentSubject(
            host=hosts[host_id],
            subject=subject,
            device=device if device and measurement == CGROUP.name else "",
            last_sample_at=latest,
        )
        for host_id, _, subject, device, latest in rows
    ]


def why_unrated(
    kind: FigureKind[Any], *, host: Host, name: str, since: datetime, until: datetime
) -> str | None:
    """Why samples of a device or interface with `since < at <= until` make no rate at the end.

    None where there are no samples, and where they do make one.
    """
    found = read_newest(
        kind,
        Subject(host=host.pk, name=name),
        most=READINGS_TO_JUDGE,
        since=since - 2 * timedelta(seconds=LONGEST_INTERVAL_S),
        until=until,
    )
    reasons = [
        why_no_rate(kind, at_us, counters)
        for at_us, counters in found
        if at_us[-1] > microseconds(since)
    ]
    return next((why for why in reasons if why), None)


def link_speeds_mbits(
    hosts: Iterable[Host], *, interfaces: Iterable[str]
) -> dict[tuple[int, str], int]:
    """The speed of interfaces of these names, by host's key and name, as the newest sample told.

    Those that know none are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH wanted AS MATERIALIZED (
                SELECT id, host_id, subject, last_sample_at FROM ingest_series
                 WHERE measurement = %s AND host_id = ANY(%s) AND subject = ANY(%s)
            )
            SELECT DISTINCT ON (host_id, subject) host_id, subject, told[1]
              FROM ingest_told_last(%s, %s, ARRAY(SELECT id FROM wanted)) AS sample
              JOIN wanted ON wanted.id = sample.series_id
             WHERE told[1] > 0
             ORDER BY host_id, subject, last_sample_at DESC, id
            """,
            [NET.name, [host.pk for host in hosts], sorted(interfaces), NET.table, ["speed"]],
        )
        return {(host, name): speed for host, name, speed in cursor.fetchall()}


def device_numbers(hosts: Iterable[Host]) -> dict[tuple[int, str], str]:
    """The number (`major:minor`) of each block device, by host's key and name, as told last."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH wanted AS MATERIALIZED (
                SELECT id, host_id, subject, last_sample_at FROM ingest_series
                 WHERE measurement = %s AND host_id = ANY(%s)
            )
            SELECT DISTINCT ON (host_id, subject) host_id, subject, told[1], told[2]
              FROM ingest_told_last(%s, %s, ARRAY(SELECT id FROM wanted)) AS sample
              JOIN wanted ON wanted.id = sample.series_id
             ORDER BY host_id, subject, last_sample_at DESC, id
            """,
            [
                BLOCK_DEVICE.name,
                [host.pk for host in hosts],
                BLOCK_DEVICE.table,
                ["major", "minor"],
            ],
        )
        return {(host, name): f"{major}:{minor}" for host, name, major, minor in cursor.fetchall()}


def cgroup_devices(hosts: Iterable[Host]) -> dict[tuple[int, str], set[str]]:
    """The devices (`major:minor`) that each cgroup has done I/O on, by host's key and path."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    rows = Series.objects.filter(host__in=list(hosts), measurement=CGROUP.name)
    for host, path, device in rows.values_list("host_id", "subject", KT("tags__device")):
        found[host, path].add(device)
    return dict(found)
