"""All sources, and which of them knows a point."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ingest.core.batch import UnknownMeasurementError
from ingest.core.mapping import Head, Source, Tags
from ingest.sources import (
    block_device,
    ceph,
    cgroup,
    collector,
    diskio,
    esxtop,
    hostmetrics,
    iostat,
    kernel,
    libvirt,
    net,
    nfs,
    node_exporter,
    nstat,
    other_telegraf,
    perfmon,
    proxmox,
    proxmox_otel,
    qemu,
    reservation,
    sar,
    sluice,
    smart,
    system,
    vsphere,
    zfs,
)

SOURCES: Sequence[Source] = (
    proxmox.SOURCE,
    proxmox_otel.SOURCE,
    libvirt.SOURCE,
    vsphere.SOURCE,
    nfs.SOURCE,
    node_exporter.SOURCE,
    hostmetrics.SOURCE,
    ceph.SOURCE,
    zfs.SOURCE,
    kernel.SOURCE,
    smart.SOURCE,
    diskio.SOURCE,
    net.SOURCE,
    nstat.SOURCE,
    cgroup.SOURCE,
    system.SOURCE,
    collector.SOURCE,
    reservation.SOURCE,
    block_device.SOURCE,
    sluice.SOURCE,
    qemu.SOURCE,
    esxtop.SOURCE,
    iostat.SOURCE,
    sar.SOURCE,
    perfmon.SOURCE,
    other_telegraf.SOURCE,
)
"""Of several that may send a measurement, the first that takes a head for its own has it."""


def _by_measurement(sources: Sequence[Source]) -> Mapping[str, Sequence[Source]]:
    found: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        for measurement in source.measurements:
            found[measurement].append(source)
    return found


_BY_MEASUREMENT = _by_measurement(SOURCES)
_BEGINNINGS = tuple(
    (measurement.removesuffix("*"), sources)
    for measurement, sources in _BY_MEASUREMENT.items()
    if measurement.endswith("*")
)


def find_head(measurement: str, tags: Tags) -> Head:
    """What the source that knows it makes of a head; raises `PointError` if none can keep it."""
    for source in _BY_MEASUREMENT.get(measurement, ()):
        head = source.head(measurement, tags)
        if head is not None:
            return head
    for beginning, sources in _BEGINNINGS:
        if measurement.startswith(beginning):
            for source in sources:
                head = source.head(measurement, tags)
                if head is not None:
                    return head
    raise UnknownMeasurementError(measurement, tags.get("host", ""))
