"""The read side: what is stored, as the dataclasses of `ingest.core`.

Counters are kept as sent; rates are derived when they are read. A long range is thinned out in
the database to the last reading of each step, and rates between those are exact means.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Max
from django.db.models.fields.json import KT

from accounts.models import Organisation
from ingest.core.catalogue import (
    BLOCK_DEVICE,
    CGROUP,
    DISKIO,
    NET,
    NSTAT,
    SCSI_RESERVATION,
    Measurement,
)
from ingest.core.counters import LONGEST_INTERVAL_S, NoRate, NoRateReason, Reading, steps
from ingest.core.overlap import merged
from ingest.core.rates import (
    CONFLICT_COUNTERS,
    DISK_COUNTERS,
    NET_COUNTERS,
    TCP_COUNTERS,
    ConflictRates,
    Derived,
    DiskRates,
    NetRates,
    RatesT,
    TcpRates,
    derive_conflict_rates,
    derive_disk_rates,
    derive_net_rates,
    derive_tcp_rates,
)
from ingest.models import Host, NetSample, Series
from ingest.readings import Span

TCP_SUBJECT = "snmp"
"""The TCP counters are those of /proc/net/snmp, which Telegraf tags so."""

IN_FLIGHT = "iops_in_progress"
"""What Telegraf calls the I/Os that a device has not completed; no counter."""

RATED = {DISKIO: DISK_COUNTERS, NET: NET_COUNTERS}
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
    names = RATED[measurement]
    for series_id in _series_ids(host, measurement, subject):
        span = Span(since=since, until=until, max_points=None)
        readings = sorted(span.readings(measurement, series_id, names), key=lambda one: one.at)
        if not readings or readings[-1].at <= since:
            continue
        newest = readings[-1].counters
        lacking = [name for name, value in zip(names, newest, strict=True) if value is None]
        if lacking:
            return f"they lack {', '.join(lacking)}"
        if len(readings) == 1:
            return f"none came in the {LONGEST_INTERVAL_S / 60:g} min before, and a rate needs two"
        *_, last = steps(
            readings, wide=len(names), longest_interval_s=span.longest_interval_s(readings)
        )
        if isinstance(last, NoRate):
            return NO_RATE_TEXT[last.reason]
    return None


def disk_rates(
    *, host: Host, device: str, since: datetime, until: datetime, max_points: int | None = None
) -> list[DiskRates]:
    """Rates of one device with `since < at <= until`, about `max_points` at most."""
    span = Span(since=since, until=until, max_points=max_points)
    ids = _series_ids(host, DISKIO, device)

    def derive(series_id: int) -> Derived[DiskRates]:
        columns = (*DISK_COUNTERS, IN_FLIGHT)
        found = span.readings(DISKIO, series_id, columns)
        return derive_disk_rates(
            [Reading(at=one.at, counters=one.counters[:-1]) for one in found],
            longest_interval_s=span.longest_interval_s(found),
            in_flight={one.at: one.counters[-1] for one in found},
        )

    return _merged(ids, derive, span)


def net_rates(
    *, host: Host, interface: str, since: datetime, until: datetime, max_points: int | None = None
) -> list[NetRates]:
    """Rates of one interface with `since < at <= until`, about `max_points` at most."""
    span = Span(since=since, until=until, max_points=max_points)
    ids = _series_ids(host, NET, interface)

    def derive(series_id: int) -> Derived[NetRates]:
        readings = span.readings(NET, series_id, NET_COUNTERS)
        return derive_net_rates(readings, longest_interval_s=span.longest_interval_s(readings))

    return _merged(ids, derive, span)


def conflict_rates(
    *, host: Host, device: str, since: datetime, until: datetime, max_points: int | None = None
) -> list[ConflictRates]:
    """SCSI commands and reservation conflicts of one device with `since < at <= until`."""
    span = Span(since=since, until=until, max_points=max_points)
    ids = _series_ids(host, SCSI_RESERVATION, device)

    def derive(series_id: int) -> Derived[ConflictRates]:
        readings = span.readings(SCSI_RESERVATION, series_id, CONFLICT_COUNTERS)
        return derive_conflict_rates(
            readings, longest_interval_s=span.longest_interval_s(readings)
        )

    return _merged(ids, derive, span)


def tcp_rates(*, host: Host, since: datetime, until: datetime) -> list[TcpRates]:
    """TCP segments of the host, and those sent again, with `since < at <= until`."""
    span = Span(since=since, until=until, max_points=None)
    ids = _series_ids(host, NSTAT, TCP_SUBJECT)

    def derive(series_id: int) -> Derived[TcpRates]:
        readings = span.readings(NSTAT, series_id, TCP_COUNTERS)
        return derive_tcp_rates(readings, longest_interval_s=span.longest_interval_s(readings))

    return _merged(ids, derive, span)


def link_speed_bits_per_s(*, host: Host, interface: str) -> float | None:
    """The nominal speed that the interface told last; None if it does not know one."""
    newest = (
        NetSample.objects.filter(series_id__in=_series_ids(host, NET, interface), speed__gt=0)
        .order_by("-time")
        .values_list("speed", flat=True)
        .first()
    )
    return None if newest is None else newest * 1e6


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


def _merged(
    series_ids: Iterable[int], derive: Callable[[int], Derived[RatesT]], span: Span
) -> list[RatesT]:
    rates = (derive(series_id).rates for series_id in series_ids)
    return merged(rates, since=span.since, until=span.until)
