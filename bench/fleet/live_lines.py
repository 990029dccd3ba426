"""What the hosts of the fleet send while it is running, as Telegraf writes it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from django.db import connection

from bench.fleet.inventory import (
    DISK,
    DISK_NUMBER,
    UPLINK,
    SeriesIds,
    host_name,
    host_of,
    path_of,
    uplink_host,
    vnic_of,
)
from bench.fleet.shape import END, WINDOW_S, FleetShape
from bench.fleet.traffic import Integers, Traffic
from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, DISKIO, NET, NSTAT, Measurement

_COLUMNS = {
    "cgroup": (CGROUP, len(CGROUP.fields)),
    "pressure": (CGROUP_PRESSURE, len(CGROUP_PRESSURE.fields)),
    "vnic": (NET, len(NET.fields) - 1),
    "disk": (DISKIO, len(DISKIO.fields)),
    "uplink": (NET, len(NET.fields) - 1),
    "tcp": (NSTAT, len(NSTAT.fields)),
}
"""By attribute of `Growth` its measurement, and how many of its fields grow."""
_PREFIXES = {"cgroup": f"io.stat.{DISK_NUMBER}.", "pressure": "io.pressure."}


class LiveLines:
    """Counters that go on from the last stored reading of each series."""

    def __init__(self, shape: FleetShape, series: SeriesIds) -> None:
        self._shape = shape
        self._traffic = Traffic(shape)
        self._counters = {
            name: _newest(measurement, width, getattr(series, name))
            for name, (measurement, width) in _COLUMNS.items()
        }

    def bodies(self, end_s: int, *, congested: bool) -> dict[str, bytes]:
        """By host the lines of the window that ends at this time."""
        grown = self._traffic.grow(
            np.array([end_s], np.int64), WINDOW_S, np.array([congested], np.bool_)
        )
        for name in self._counters:
            growth: Integers = getattr(grown, name)[0]
            self._counters[name] += growth
            if name == "disk":
                # The last is what is in flight, no counter.
                self._counters[name][:, -1] = growth[:, -1]
        lines = self._lines()
        ending = f" {end_s}000000000\n"
        return {
            host: "".join(line + ending for line in found).encode()
            for host, found in lines.items()
        }

    def _lines(self) -> dict[str, list[str]]:
        shape = self._shape
        lines: dict[str, list[str]] = defaultdict(list)
        fields = {name: self._fields(name) for name in _COLUMNS}
        for number in range(shape.workloads):
            host, path = host_of(number, shape), path_of(number)
            both = f"{fields['cgroup'][number]},{fields['pressure'][number]}"
            lines[host].append(f"cgroup,host={host},path={path} {both}")
            host, vnic = uplink_host(number // shape.group, shape), vnic_of(number, shape)
            lines[host].append(f"net,host={host},interface={vnic} {fields['vnic'][number]}")
        for number, text in enumerate(fields["disk"]):
            host = host_name(number)
            lines[host].append(f"diskio,host={host},name={DISK} {text}")
        for group in range(shape.groups):
            host = uplink_host(group, shape)
            text = f"{fields['uplink'][group]},speed=10000i"
            lines[host].append(f"net,host={host},interface={UPLINK} {text}")
            lines[host].append(f"nstat,host={host},name=snmp {fields['tcp'][group]}")
        return lines

    def _fields(self, name: str) -> list[str]:
        """The fields of each series as text."""
        measurement, width = _COLUMNS[name]
        names = [_sent_name(name, field.name) for field in measurement.fields[:width]]
        form = ",".join(f"{field}={{}}i" for field in names)
        return [form.format(*row) for row in self._counters[name].tolist()]


def _sent_name(name: str, field: str) -> str:
    """A field as Telegraf calls it; pressure has dots where its columns have none."""
    return _PREFIXES.get(name, "") + (field.replace("_", ".") if name == "pressure" else field)


def _newest(measurement: Measurement, width: int, series: list[int]) -> Integers:
    """The counters of each series at the end of the data set."""
    names = ", ".join(f'"{field.name}"' for field in measurement.fields[:width])
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT series_id, {names} FROM {measurement.table}"
            " WHERE series_id = ANY(%s) AND time = %s",
            [series, END],
        )
        found = {row[0]: row[1:] for row in cursor.fetchall()}
    return np.array([found[one] for one in series], np.int64)
