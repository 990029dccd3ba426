"""Counters of the sample's hosts, as lines that Telegraf and the agent's reader would write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from appliance.sample.fleet import HOSTS, STORES, UPLINK, Machine, by_host, machines
from appliance.sample.story import Floats, Moment
from ingest.core.catalogue import CGROUP, CGROUP_PRESSURE, DISKIO, NET, NSTAT, Measurement

Integers = npt.NDArray[np.int64]
WINDOW_S = 10
NUMBERS_EACH_S, FACTS_EACH_S = 60, 600
"""So often hosts tell the numbers of their disks again, and what they know of themselves."""
_PACKET_BYTES = 1400
_WRAPS = np.array([2**63] * 4 + [2**32] * 4, np.float64)
"""Where the counters of a disk begin anew: times are numbers of 32 bits."""
_LINE_SPEED_MBIT = 10_000
_STORE_BYTES = 40 * 10**12


def _names(measurement: Measurement, count: int, prefix: str = "") -> tuple[str, ...]:
    return tuple(f"{prefix}{field.name}" for field in measurement.fields[:count])


@dataclass(slots=True, eq=False)
class Counters:
    """Totals since each host's start: (things, columns), of fractions too, which wait."""

    groups: Floats
    pressure: Floats
    vnics: Floats
    disks: Floats
    uplinks: Floats
    tcp: Floats

    @classmethod
    def started(cls) -> Counters:
        """All at nothing."""
        count, hosts = len(machines()), len(HOSTS)
        return cls(
            groups=np.zeros((count, 4)),
            pressure=np.zeros((count, 2)),
            vnics=np.zeros((count, 8)),
            disks=np.zeros((hosts * len(STORES), 8)),
            uplinks=np.zeros((hosts, 8)),
            tcp=np.zeros((hosts, 2)),
        )


class Hosts:
    """The hosts of the sample, whose counters grow window by window."""

    def __init__(self, counters: Counters) -> None:
        every = machines()
        self.counters = counters
        self._in_flight = np.zeros(len(HOSTS) * len(STORES), np.int64)
        self._store = np.array([_store_place(one) for one in every])
        self._host = np.array([HOSTS.index(one.host) for one in every])
        self._disk = self._host * len(STORES) + self._store
        self._reads = np.array([one.role.read_ratio for one in every])
        self._io_bytes = np.array([one.role.io_bytes for one in every])

    def grow(self, now: Moment) -> None:
        """One window at these rates."""
        reads, writes = now.iops * self._reads * WINDOW_S, now.iops * (1 - self._reads) * WINDOW_S
        io = np.stack([reads, writes, reads * self._io_bytes, writes * self._io_bytes], -1)
        self.counters.groups += io
        waited_us = (reads + writes) * now.latency_ms[self._store] * 1000
        some = np.minimum(waited_us * 0.4, WINDOW_S * 1e6)
        self.counters.pressure += np.stack([some, some * 0.6], -1)
        self._grow_disks(io, now)
        self._grow_network(now)

    def _grow_disks(self, io: Floats, now: Moment) -> None:
        done = np.stack([self._of_disks(io[:, column]) for column in range(4)], -1)
        latency_ms = np.tile(now.latency_ms, len(HOSTS))
        waits = done[:, :2] * latency_ms[:, None]
        whole_ms = waits.sum(-1)
        busy_ms = np.minimum(whole_ms, WINDOW_S * 1000)
        self.counters.disks += np.column_stack([done, waits, busy_ms, whole_ms])
        stalled = np.tile(now.stalled, len(HOSTS))
        self._in_flight = np.where(stalled > 0, stalled, whole_ms // (WINDOW_S * 1000)).astype(
            np.int64
        )

    def _grow_network(self, now: Moment) -> None:
        sent = now.sent_bits_per_s * WINDOW_S / 8
        # What a machine sends is what the host's side of its interface receives.
        self.counters.vnics += _net(sent=sent / 6, received=sent, dropped=np.zeros_like(sent))
        whole: Floats = np.bincount(self._host, sent, len(HOSTS)).astype(np.float64)
        packets = whole / _PACKET_BYTES
        self.counters.uplinks += _net(sent=whole, received=whole / 5, dropped=packets * now.lost)
        self.counters.tcp += np.stack([packets, packets * (1e-5 + 2 * now.lost)], -1)

    def _of_disks(self, values: Floats) -> Floats:
        return np.bincount(self._disk, values, len(HOSTS) * len(STORES)).astype(np.float64)

    def lines(self, at_s: int) -> Mapping[str, list[str]]:
        """By host its lines of the window that ends so."""
        text = _Text(self.counters, self._in_flight)
        ending = f" {at_s}000000000"
        return {
            host: [
                line + ending
                for line in (
                    *text.of_host(place, host),
                    *(text.of_machine(one, host) for one in places),
                    *(text.of_vnic(one, host) for one in places),
                    *(numbers_of(host) if at_s % NUMBERS_EACH_S == 0 else ()),
                    *(facts_of(host, places) if at_s % FACTS_EACH_S == 0 else ()),
                )
            ]
            for place, (host, places) in enumerate(by_host().items())
        }


class _Text:
    """The fields of all things at one time."""

    def __init__(self, counters: Counters, in_flight: Integers) -> None:
        self._groups = counters.groups.astype(np.int64).tolist()
        self._pressure = counters.pressure.astype(np.int64).tolist()
        self._vnics = counters.vnics.astype(np.int64).tolist()
        self._disks = [
            [*row, flying]
            for row, flying in zip(
                (counters.disks % _WRAPS).astype(np.int64).tolist(),
                in_flight.tolist(),
                strict=True,
            )
        ]
        self._uplinks = counters.uplinks.astype(np.int64).tolist()
        self._tcp = counters.tcp.astype(np.int64).tolist()

    def of_machine(self, place: int, host: str) -> str:
        one = machines()[place]
        number = STORES[_store_place(one)].number
        return (
            f"cgroup,host={host},path={one.path} "
            + _GROUP.format(number, *self._groups[place])
            + ","
            + _PRESSURE.format(*self._pressure[place])
        )

    def of_vnic(self, place: int, host: str) -> str:
        name = machines()[place].vnic
        return f"net,host={host},interface={name} {_NET.format(*self._vnics[place])}"

    def of_host(self, place: int, host: str) -> Iterator[str]:
        for number, store in enumerate(STORES):
            row = self._disks[place * len(STORES) + number]
            yield f"diskio,host={host},name={store.device} {_DISK.format(*row)}"
        uplink = _NET.format(*self._uplinks[place])
        yield f"net,host={host},interface={UPLINK} {uplink},speed={_LINE_SPEED_MBIT}i"
        yield f"nstat,host={host},name=snmp {_TCP.format(*self._tcp[place])}"


def _form(names: tuple[str, ...]) -> str:
    return ",".join(f"{name}={{}}i" for name in names)


# The number of the device comes first, and again in each name.
_GROUP = ",".join(
    f"io.stat.{{0}}.{name}={{{place}}}i" for place, name in enumerate(_names(CGROUP, 4), start=1)
)
_PRESSURE = _form(
    tuple(f"io.pressure.{name.replace('_', '.')}" for name in _names(CGROUP_PRESSURE, 2))
)
_NET = _form(_names(NET, 8))
_DISK = _form(_names(DISKIO, 9))
_TCP = _form(_names(NSTAT, 2))


def numbers_of(host: str) -> Iterator[str]:
    """Under which number cgroups count the I/O of each disk."""
    for store in STORES:
        major, minor = store.number.split(":")
        yield f"block_device,host={host},name={store.device} major={major}i,minor={minor}i"


def facts_of(host: str, places: Sequence[int]) -> Iterator[str]:
    """What the agent's reader tells of a host, its disks and its machines."""
    yield f'sluice_host,host={host} machine_id="{host}.northgate.example"'
    for store in STORES:
        yield (
            f'sluice_device,host={host},name={store.device} majmin="{store.number}",'
            f'size_bytes="{_STORE_BYTES}",transport="fc",wwn="{store.wwn}"'
        )
    for one in (machines()[place] for place in places):
        cgroup = f"/sys/fs/cgroup{one.path}".replace("\\", "\\\\")
        yield (
            f'sluice_workload,host={host},name=vm/{one.name} cgroup="{cgroup}",'
            f'kind="vm",label.team="{one.role.team}",name="{one.name}",nic.net0="{one.vnic}",'
            f'uuid="{one.uuid}"'
        )


def _store_place(one: Machine) -> int:
    return next(place for place, store in enumerate(STORES) if store.name == one.store)


def _net(*, sent: Floats, received: Floats, dropped: Floats) -> Floats:
    nothing = np.zeros_like(sent)
    packets = sent / _PACKET_BYTES, received / _PACKET_BYTES
    return np.stack([sent, received, *packets, nothing, dropped, nothing, nothing], -1)
