"""The kinds of the host's own traffic: which there are, and how their packets are told.

The nine are those of the NetIOC study (traffic of workloads is what allocations are for); what
no kind claims is `other`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import combinations, product

from enforcers.mechanisms.tc_htb.signs import MOST_MASKS, mark_value, mask_of

LARGEST_SHARES = 10_000
NORMAL_SHARES = 100
OFF = "off"
_LARGEST_PORT = 65_535
_LARGEST_DSCP = 63


class HostKind(StrEnum):
    """What a host sends for itself."""

    MANAGEMENT = "management"
    NFS = "nfs"
    ISCSI = "iscsi"
    CLUSTER_STORAGE = "cluster_storage"
    MIGRATION = "migration"
    REPLICATION = "replication"
    FAULT_TOLERANCE = "fault_tolerance"
    BACKUP = "backup"
    OTHER = "other"


class Transport(StrEnum):
    """The protocols above IP that rules tell apart."""

    TCP = "tcp"
    UDP = "udp"
    ICMP = "icmp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports from `first` to `last`, both included."""

    first: int
    last: int

    def overlaps(self, other: "Ports") -> bool:
        """Whether a port is in both."""
        return self.first <= other.last and other.first <= self.last


Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderRule:
    """What the headers of a packet have; None is anything. `peer` is where it goes."""

    peer: Network | None = None
    transport: Transport | None = None
    ports: Ports | None = None
    dscp: int | None = None

    def is_as_precise(self, other: "HeaderRule") -> bool:
        """Whether some packets are told by both, and neither rule says more of them."""
        if (self.peer, self.transport, self.dscp) != (other.peer, other.transport, other.dscp):
            return False
        if self.ports is None or other.ports is None:
            return self.ports is other.ports
        return self.ports.overlaps(other.ports)

    def __str__(self) -> str:
        ports = "" if self.ports is None else f"={self.ports.first}-{self.ports.last}"
        words = [
            "" if self.transport is None else f"{self.transport}{ports}",
            "" if self.peer is None else f"to={self.peer}",
            "" if self.dscp is None else f"dscp={self.dscp}",
        ]
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindConfig:
    """One kind: its shares, of which 100 are those that the policy gives the host.

    It is told by headers, or by firewall marks or control groups.
    """

    kind: HostKind
    shares: int
    headers: tuple[HeaderRule, ...]
    marks: tuple[str, ...] = ()
    cgroups: tuple[str, ...] = ()

    @property
    def needs_program(self) -> bool:
        """Whether only the BPF program can tell it."""
        return bool(self.marks or self.cgroups)


# Ports by IANA and by the documentation of corosync, libvirt, Proxmox VE, Ceph and DRBD.
DEFAULTS = (
    "management tcp=22 udp=5405-5412 icmp",
    "nfs tcp=2049 udp=2049",
    "iscsi tcp=3260",
    "cluster_storage tcp=3300,6789,6800-7568",
    "migration tcp=49152-49215,60000-60050",
    "replication tcp=7788-7799",
    "backup tcp=8007",
)


def read_kinds(texts: Iterable[str]) -> tuple[KindConfig, ...]:
    """The kinds in a fixed order; a kind that the texts name has nothing of its defaults.

    `off` alone means no kinds. Raises ValueError with the text and what is wrong with it.
    """
    own = sorted(texts)
    if own == [OFF]:
        return ()
    read: dict[HostKind, KindConfig] = {}
    for text in own:
        config = _read(text)
        if config.kind in read:
            raise ValueError(f"{text!r}: {config.kind} is there twice")
        read[config.kind] = config
    for text in DEFAULTS:
        config = _read(text)
        read.setdefault(config.kind, config)
    read.setdefault(HostKind.OTHER, _read(HostKind.OTHER))
    kinds = tuple(read[kind] for kind in HostKind if kind in read)
    _check_apart(kinds)
    return kinds


def _read(text: str) -> KindConfig:
    name, *words = text.split() or [""]
    if name not in set(HostKind):
        raise ValueError(f"{text!r}: the kind must be one of {', '.join(HostKind)}, or {OFF!r}")
    values = _values(text, words)
    shares = _number(text, values.pop("shares", str(NORMAL_SHARES)), 1, LARGEST_SHARES)
    if name == HostKind.OTHER and values:
        raise ValueError(f"{text!r}: {name} is what no other kind claims; it has only shares=")
    if name != HostKind.OTHER and not values:
        raise ValueError(f"{text!r}: nothing says how its packets are told")
    marks = tuple(_mark(text, word) for word in _listed(values, "mark"))
    cgroups = tuple(_cgroup(text, word) for word in _listed(values, "cgroup"))
    if (marks or cgroups) and len(values) > 1:
        raise ValueError(f"{text!r}: mark= and cgroup= each stand alone, beside shares= only")
    headers = _headers(text, values) if values and not (marks or cgroups) else ()
    return KindConfig(
        kind=HostKind(name), shares=shares, headers=headers, marks=marks, cgroups=cgroups
    )


def _values(text: str, words: Iterable[str]) -> dict[str, str]:
    known = {"shares", "to", "dscp", "mark", "cgroup", *Transport}
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        is_bare = key == Transport.ICMP
        if key not in known or key in values or bool(value) is is_bare or bool(equals) is is_bare:
            raise ValueError(
                f"{text!r}: {word!r} must be shares=N, tcp=PORTS, udp=PORTS, icmp, to=ADDRESSES, "
                "dscp=NUMBERS, mark=VALUES or cgroup=PATHS, each once"
            )
        values[key] = value
    return values


def _headers(text: str, values: Mapping[str, str]) -> tuple[HeaderRule, ...]:
    """A rule for each combination of a peer, a transport with ports, and a DSCP."""
    peers: list[Network | None] = [_network(text, word) for word in _listed(values, "to")]
    codes: list[int | None] = [
        _number(text, word, 0, _LARGEST_DSCP) for word in _listed(values, "dscp")
    ]
    flows: list[tuple[Transport | None, Ports | None]] = [
        (transport, _ports(text, word))
        for transport in (Transport.TCP, Transport.UDP)
        for word in _listed(values, transport)
    ]
    if Transport.ICMP in values:
        flows.append((Transport.ICMP, None))
    return tuple(
        HeaderRule(peer=peer, transport=transport, ports=ports, dscp=dscp)
        for peer, (transport, ports), dscp in product(
            peers or [None], flows or [(None, None)], codes or [None]
        )
    )


def _listed(values: Mapping[str, str], key: str) -> list[str]:
    return values[key].split(",") if key in values else []


def _network(text: str, word: str) -> Network:
    try:
        network = ip_network(word)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error
    if network.prefixlen == 0:
        raise ValueError(f"{text!r}: {word!r} is every address")
    return network


def _mark(text: str, word: str) -> str:
    try:
        return mark_value(word)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error


def _cgroup(text: str, word: str) -> str:
    if not word.startswith("/") or word.strip("/") == "" or ".." in word.split("/"):
        raise ValueError(f"{text!r}: {word!r} must be the path of a control group below the root")
    return word.rstrip("/")


def _ports(text: str, word: str) -> Ports:
    first, dash, last = word.partition("-")
    ports = Ports(
        first=_number(text, first, 1, _LARGEST_PORT),
        last=_number(text, last if dash else first, 1, _LARGEST_PORT),
    )
    if ports.last < ports.first:
        raise ValueError(f"{text!r}: the ports {word!r} end before they begin")
    return ports


def _number(text: str, word: str, least: int, most: int) -> int:
    if not (word.isascii() and word.isdigit()) or not least <= int(word) <= most:
        raise ValueError(f"{text!r}: {word!r} must be a whole number within {least}..{most}")
    return int(word)


def _check_apart(kinds: Iterable[KindConfig]) -> None:
    rules = [(item.kind, rule) for item in kinds for rule in item.headers]
    for (kind, rule), (other_kind, other) in combinations(rules, 2):
        if kind is not other_kind and rule.is_as_precise(other):
            raise ValueError(
                f"{kind} and {other_kind} claim the same packets: {rule} and {other}; "
                "name both kinds, each with its own"
            )
    signs = [(item.kind, sign) for item in kinds for sign in (*item.marks, *item.cgroups)]
    for (kind, sign), (other_kind, other_sign) in combinations(signs, 2):
        if sign == other_sign:
            raise ValueError(f"{kind} and {other_kind} claim the same packets: {sign}")
    masks = {mask_of(mark) for item in kinds for mark in item.marks}
    if len(masks) > MOST_MASKS:
        raise ValueError(f"marks have {MOST_MASKS} masks at most, and these have {len(masks)}")
