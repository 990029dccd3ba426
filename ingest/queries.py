"""The read side: what is stored, as the dataclasses of `ingest.core`.

Counters are kept as sent; rates are derived when they are read. A long range is thinned out in
the database to the last reading of each step, and rates between those are exact means.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Max
from django.db.models.fields.json import KT

from accounts.models import Organisation
from ingest.core.catalogue import BLOCK_DEVICE, CGROUP, NET, Measurement
from ingest.core.grid import LONGEST_INTERVAL_S, NOT_SENT
from ingest.core.growth_columns import NoRateReason, longest_interval_of, no_rate_reasons
from ingest.core.microseconds import microseconds
from ingest.core.rates import (
    CONFLICT,
    DISK,
    INTERFACE,
    TCP,
    ConflictRates,
    DiskRates,
    NetRates,
    TcpRates,
)
from ingest.many_rates import rates_of, readings_of
from ingest.models import Host, Series
from ingest.readings import Span

TCP_SUBJECT = "snmp"
"""The TCP counters are those of /proc/net/snmp, which Telegraf tags so."""

RATED = {kind.measurement: kind for kind in (DISK, INTERFACE)}
"""What a sample must tell so that two of them make a rate."""
NO_RATE_TEXT = {
    NoRateReason.GAP: "they are too far apart",
    NoRateReason.RESET: "the counters have started again",
    NoRateReason.INCOMPLETE: "the one before lacks counters",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something that a host sends samples about: a device, an interface, a cgroup on a device.

    `device` is empty except for cgroups, whose `subject` is their path.
    """

    host: Host
    subject: str
    device: str
    last_sample_at: datetime | None


def subjects(*, organisation: Organisation, measurement: str) -> list[Subject]:
    """Everything that this organisation's hosts have sent this measurement about."""
    hosts = Host.objects.filter(organisation=organisation).in_bulk()
    rows = (
        Series.objects.filter(organisation=organisation, measurement=measurement)
        .values_list("host_id", "host__name", "subject", KT("tags__device"))
        .annotate(latest=Max("last_sample_at"))
        .order_by("host__name", "subject", KT("tags__device"))
    )
    return [
        Subject(
            host=hosts[host_id],
            subject=subject,
            device=device if device and measurement == CGROUP.name else "",
            last_sample_at=latest,
        )
        for host_id, _, subject, device, latest in rows
    ]


def latest_sample_at(host: Host) -> datetime | None:
    """The time of the newest sample of this host; None means that it has sent none."""
    return Host.objects.filter(pk=host.pk).values_list("last_sample_at", flat=True).first()


def why_no_rate(
    *, host: Host, measurement: Measurement, subject: str, since: datetime, until: datetime
) -> str | None:
    """Why samples of a device or interface with `since < at <= until` make no rate at the end.

    None where there are no samples, and where they do make one.
    """
    kind = RATED[measurement]
    series_ids = _series_ids(host, measurement, subject)
    span = Span(since=since, until=until, max_points=None)
    found = readings_of(span, measurement, dict.fromkeys(series_ids, 0), kind.counters)
    for series_id in series_ids:
        if series_id not in found or found[series_id][0][-1] <= microseconds(since):
            continue
        at_us, counters = found[series_id]
        newest = zip(kind.counters, counters[-1].tolist(), strict=True)
        if lacking := [name for name, value in newest if value == NOT_SENT]:
            return f"they lack {', '.join(lacking)}"
        if len(at_us) == 1:
            return f"none came in the {LONGEST_INTERVAL_S / 60:g} min before, and a rate needs two"
        longest_s = longest_interval_of(at_us)
        *_, last = no_rate_reasons(at_us, counters, longest_s=longest_s, wide=kind.wide)
        if last is not None:
            return NO_RATE_TEXT[last]
    return None


def disk_rates(
    *, host: Host, device: str, since: datetime, until: datetime, max_points: int | None = None
) -> list[DiskRates]:
    """Rates of one device with `since < at <= until`, about `max_points` at most."""
    key = (host.pk, device)
    return rates_of(DISK, [key], since=since, until=until, max_points=max_points)[key]


def net_rates(
    *, host: Host, interface: str, since: datetime, until: datetime, max_points: int | None = None
) -> list[NetRates]:
    """Rates of one interface with `since < at <= until`, about `max_points` at most."""
    key = (host.pk, interface)
    return rates_of(INTERFACE, [key], since=since, until=until, max_points=max_points)[key]


def conflict_rates(
    *, host: Host, device: str, since: datetime, until: datetime, max_points: int | None = None
) -> list[ConflictRates]:
    """SCSI commands and reservation conflicts of one device with `since < at <= until`."""
    key = (host.pk, device)
    return rates_of(CONFLICT, [key], since=since, until=until, max_points=max_points)[key]


def tcp_rates(*, host: Host, since: datetime, until: datetime) -> list[TcpRates]:
    """TCP segments of the host, and those sent again, with `since < at <= until`."""
    key = (host.pk, TCP_SUBJECT)
    return rates_of(TCP, [key], since=since, until=until)[key]


def link_speed_bits_per_s(*, host: Host, interface: str) -> float | None:
    """The nominal speed that the interface told last; None if it does not know one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT speed FROM ingest_net_sample WHERE series_id = ANY(%s) AND speed > 0"
            " ORDER BY time DESC LIMIT 1",
            [_series_ids(host, NET, interface)],
        )
        newest = cursor.fetchone()
    return None if newest is None else newest[0] * 1e6


def device_numbers(hosts: Iterable[Host]) -> dict[tuple[int, str], str]:
    """The number (`major:minor`) of each block device, by host's key and name, as told last."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT ON (series.host_id, series.subject)
                   series.host_id, series.subject, sample.major, sample.minor
              FROM ingest_series AS series
              JOIN ingest_block_device_sample AS sample
                ON sample.series_id = series.id AND sample.time = series.last_sample_at
             WHERE series.measurement = %s AND series.host_id = ANY(%s)
             ORDER BY series.host_id, series.subject, series.last_sample_at DESC, series.id
            """,
            [BLOCK_DEVICE.name, [host.pk for host in hosts]],
        )
        return {(host, name): f"{major}:{minor}" for host, name, major, minor in cursor.fetchall()}


def cgroup_devices(hosts: Iterable[Host]) -> dict[tuple[int, str], set[str]]:
    """The devices (`major:minor`) that each cgroup has done I/O on, by host's key and path."""
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    rows = Series.objects.filter(host__in=list(hosts), measurement=CGROUP.name)
    for host, path, device in rows.values_list("host_id", "subject", KT("tags__device")):
        found[host, path].add(device)
    return dict(found)


def _series_ids(host: Host, measurement: Measurement, subject: str) -> list[int]:
    """The series of one subject, the one heard of last first.

    There are several when the host's tags changed, or when two collectors send for one host.
    """
    found = Series.objects.filter(host=host, measurement=measurement.name, subject=subject)
    return list(found.order_by("-last_sample_at", "-pk").values_list("pk", flat=True))
