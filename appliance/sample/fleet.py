"""What there is in the sample: 12 hosts, 6 shared datastores, 300 virtual machines."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from uuid import NAMESPACE_DNS, uuid5

HOSTS = tuple(f"node-{number:02}" for number in range(1, 13))
UPLINK = "eth0"
UPLINK_BITS_PER_S = 9.4e9
"""What a line of 10 Gbit/s carries, less what frames take."""
TOKEN_FILE, AGENTS_FILE, STATE_FILE = "ingest-token", "agents.json", "state.npz"
UNTIL_NOW = "--until-now"
ORGANISATION, ORGANISATION_NAME = "northgate", "Northgate (sample data)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A datastore that all hosts reach by the same device."""

    name: str
    device: str
    capacity_iops: float
    calm_ms: float
    threshold_ms: float

    @property
    def number(self) -> str:
        """major:minor of the device: sdb is 8:16."""
        return f"8:{16 * (ord(self.device[2]) - ord('a'))}"

    @property
    def wwn(self) -> str:
        return f"naa.600a0b80006e{ord(self.device[2]):08x}"


STORES = (
    Store(name="gold-01", device="sdb", capacity_iops=24000, calm_ms=0.7, threshold_ms=6),
    Store(name="gold-02", device="sdc", capacity_iops=24000, calm_ms=0.8, threshold_ms=6),
    Store(name="silver-01", device="sdd", capacity_iops=6000, calm_ms=2.4, threshold_ms=30),
    Store(name="silver-02", device="sde", capacity_iops=6000, calm_ms=2.8, threshold_ms=30),
    Store(name="silver-03", device="sdf", capacity_iops=6000, calm_ms=3.1, threshold_ms=30),
    Store(name="archive-01", device="sdg", capacity_iops=1500, calm_ms=7.0, threshold_ms=60),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What VMs of one name do: `night` is the part of it that comes by night and not by day."""

    name: str
    count: int
    stores: tuple[str, ...]
    iops: float
    read_ratio: float
    io_bytes: int
    sent_bits_per_s: float
    team: str
    night: float = 0.0


_GOLD, _SILVER = ("gold-01", "gold-02"), ("silver-01", "silver-02", "silver-03")
ROLES = (
    Role(name="db", count=36, stores=_GOLD, iops=220, read_ratio=0.7, io_bytes=8192,
         sent_bits_per_s=60e6, team="shop"),
    Role(name="cache", count=24, stores=_GOLD, iops=40, read_ratio=0.2, io_bytes=16384,
         sent_bits_per_s=180e6, team="shop"),
    Role(name="app", count=72, stores=_SILVER, iops=22, read_ratio=0.5, io_bytes=8192,
         sent_bits_per_s=35e6, team="shop"),
    Role(name="web", count=60, stores=_SILVER, iops=9, read_ratio=0.8, io_bytes=16384,
         sent_bits_per_s=90e6, team="shop"),
    Role(name="mail", count=12, stores=("silver-02",), iops=55, read_ratio=0.4, io_bytes=16384,
         sent_bits_per_s=70e6, team="office"),
    Role(name="queue", count=12, stores=_SILVER, iops=45, read_ratio=0.3, io_bytes=4096,
         sent_bits_per_s=80e6, team="office"),
    Role(name="etl", count=18, stores=("silver-01", "silver-02"), iops=30, read_ratio=0.6,
         io_bytes=16384, sent_bits_per_s=40e6, team="data", night=0.6),
    Role(name="build", count=24, stores=("silver-03",), iops=35, read_ratio=0.5, io_bytes=16384,
         sent_bits_per_s=25e6, team="lab"),
    Role(name="test", count=30, stores=("archive-01",), iops=4, read_ratio=0.5, io_bytes=8192,
         sent_bits_per_s=5e6, team="lab"),
    Role(name="backup", count=12, stores=("archive-01",), iops=12, read_ratio=0.1,
         io_bytes=65536, sent_bits_per_s=30e6, team="office", night=0.8),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One VM: `weight` is its usual load beside the others of its role."""

    name: str
    number: int
    host: str
    store: str
    role: Role
    weight: float

    @property
    def path(self) -> str:
        """Its cgroup, as libvirt and systemd name it."""
        return rf"/machine.slice/machine-qemu\x2d{self.number}\x2d{self._escaped}.scope"

    @property
    def vnic(self) -> str:
        return f"vnet{self.number}"

    @property
    def uuid(self) -> str:
        return str(uuid5(NAMESPACE_DNS, f"{self.name}.northgate.example"))

    @property
    def _escaped(self) -> str:
        return self.name.replace("-", r"\x2d")


@cache
def machines() -> tuple[Machine, ...]:
    """All VMs; the same each time."""
    chance = random.Random(300)  # noqa: S311  no secret
    found: list[Machine] = []
    for role in ROLES:
        stores = islice(cycle(role.stores), role.count)
        # Each host has its part of a role, whatever stores follow one another.
        hosts = (host for _ in STORES for host in chance.sample(HOSTS, len(HOSTS)))
        for number, (store, host) in enumerate(zip(stores, hosts, strict=False), start=1):
            found.append(
                Machine(
                    name=f"{role.name}-{number:02}",
                    number=len(found) + 1,
                    host=host,
                    store=store,
                    role=role,
                    weight=chance.lognormvariate(0.0, 0.5),
                )
            )
    return tuple(found)


def machine(name: str) -> Machine:
    return next(one for one in machines() if one.name == name)


def by_host() -> Mapping[str, Sequence[int]]:
    """The places of the machines of each host."""
    places: dict[str, list[int]] = {host: [] for host in HOSTS}
    for place, one in enumerate(machines()):
        places[one.host].append(place)
    return places


RULES = """\
tier: high where name ~ db-*
tier: high where name ~ cache-*
tier: low where name ~ test-*
tier: low where name ~ build-*
tier: low where name ~ backup-*
"""
"""Tiers by name; what no rule names is medium."""
RESERVED = {"app-01": 60, "app-04": 45, "queue-01": 80, "etl-01": 30}
"""Reservations that somebody promised on silver-01, in IOPS."""


def policy_file() -> str:
    """What people would have stated of it, as `sluice apply` reads it."""
    lines = ["sluice: 1", "rules: |", *(f"  {rule}" for rule in RULES.splitlines()), "resources:"]
    for store in STORES:
        lines += [
            f"- name: {store.name}",
            "  kind: datastore",
            "  reached_by:",
            *(f"  - {{host: {host}, device: {store.device}}}" for host in HOSTS),
            f"  capacity: {store.capacity_iops:.0f}",
            f"  threshold: {store.threshold_ms:.0f}",
        ]
    for host in HOSTS:
        lines += [
            f"- name: {host}/{UPLINK}",
            "  kind: uplink",
            "  reached_by:",
            f"  - {{host: {host}, device: {UPLINK}}}",
            f"  capacity: {UPLINK_BITS_PER_S:.0f}",
            "  line_rate: 10Gbit",
        ]
    lines.append("allocations:")
    for name, reservation in RESERVED.items():
        one = machine(name)
        lines += [
            f"- resource: {one.store}",
            f"  workload: {name}",
            f"  host: {one.host}",
            "  adapter_kind: cgroup",
            f"  adapter: '{one.path}'",
            f"  reservation: {reservation}",
        ]
    lines.append("teams:")
    for team in sorted({role.team for role in ROLES}):
        lines += [f"- name: {team}", "  tags:", f"  - label.team={team}"]
    return "\n".join(lines) + "\n"
