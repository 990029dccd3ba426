"""Experiment 1 of the NetIOC study: 12 workloads, beside NFS and a migration of the host.

The study reserves 400 of 10,000 Mbit/s for each workload and nothing for NFS and migration; here
it is 3.75 of 94, and the host has the part that no policy can take away. NFS has twice the shares
of the migration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.host import LINK_MBPS, Host, class_of, host
from bench.testbed.network.part import Effort, Part
from bench.testbed.network.pings import Pings, pings
from enforcers.mechanisms.tc_htb.host_kinds import HostKind
from enforcers.mechanisms.tc_htb.observed import KIND_CLASSES
from tests.enforcers.policies import vnic
from tests.host.network import MIGRATION_PORT, NFS_PORT
from tests.host.steady_rates import Rates, median_rates

WORKLOADS = 12
RESERVED_MBPS = 3.75
# A tenth of the link up to 10 Mbit/s, divided by the shares of who sends.
HOST_MBPS = 0.1 * LINK_MBPS
NFS_PER_MIGRATION = 2.0
RESERVATIONS_MBPS: Mapping[str, float] = {
    **{f"vm{number}": RESERVED_MBPS for number in range(1, WORKLOADS + 1)},
    "nfs": HOST_MBPS * NFS_PER_MIGRATION / (NFS_PER_MIGRATION + 1),
    "migration": HOST_MBPS / (NFS_PER_MIGRATION + 1),
}
_CLASSES = {
    **{f"vm{number}": class_of(number - 1) for number in range(1, WORKLOADS + 1)},
    "nfs": KIND_CLASSES[HostKind.NFS],
    "migration": KIND_CLASSES[HostKind.MIGRATION],
}
_BELOW = Asked(
    what="12 workloads beside NFS and migration, below reservation",
    unit="kinds",
    word="<=",
    bound=0,
)
_SHARES = Asked(
    what="NFS : migration of the host at shares 2:1, off by", unit="ratio", word="<=", bound=0.05
)
_PING = Asked(
    what="host ping while all classes are full, packets of one frame, p99 beyond 1.15 x unloaded",
    unit="ms",
    word="<=",
    bound=2,
)
_PING_GROWTH = 1.15


def below_reservation(mbps: Mapping[str, float]) -> list[str]:
    """Who has less than is reserved."""
    return [name for name, least in RESERVATIONS_MBPS.items() if mbps[name] < least]


def _measure(effort: Effort) -> list[Row]:
    with host(WORKLOADS, "nfs shares=200 tcp=2049") as built:
        built.listen()
        built.enforce(*(vnic(n, RESERVED_MBPS * 1e6) for n in range(1, WORKLOADS + 1)))
        unloaded = pings(built.network, built.network.host, effort.pings)
        _fill(built)
        built.settle()
        rates = median_rates(built.counters, _CLASSES, effort.window_s)
        loaded = pings(built.network, built.network.host, effort.pings)
    return _rows(rates, unloaded, loaded)


def _fill(built: Host) -> None:
    built.let_send(*built.network.numbers)
    built.let_host_send(NFS_PORT, MIGRATION_PORT)


def _rows(rates: Rates, unloaded: Pings, loaded: Pings) -> list[Row]:
    below = below_reservation(rates.mbps)
    nfs, migration = rates.mbps["nfs"], rates.mbps["migration"]
    beyond_ms = loaded.p99_ms - _PING_GROWTH * unloaded.p99_ms
    note = f"{rates.text}; below: {', '.join(below) or 'none'}"
    parts = {name: rate / LINK_MBPS for name, rate in rates.mbps.items()}
    return [
        replace(_BELOW.row(len(below), note), values=parts),
        _SHARES.row(
            abs(nfs / migration / NFS_PER_MIGRATION - 1),
            f"{nfs:.2f} and {migration:.2f} Mbit/s",
        ),
        _PING.row(max(0.0, beyond_ms), f"{loaded.text}; unloaded {unloaded.text}"),
    ]


KINDS = Part(name="kinds", asked=[_BELOW, _SHARES, _PING], measure=_measure)
