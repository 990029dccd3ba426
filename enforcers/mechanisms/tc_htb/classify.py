"""Recognises a workload's packets on an uplink: by the interface they came in, or by source."""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network

from enforcers.contract import HOST_KIND, HOST_TRAFFIC, Selector
from enforcers.mechanisms.tc_htb.signs import Sign, source_value
from enforcers.mechanisms.tc_htb.tc_text import Filter


class Kind(StrEnum):
    """How packets are recognised.

    Those of the host's own traffic are all that no other selector claims; one kind of it is told
    as the agent's configuration says.
    """

    VNIC = "vnic"
    SOURCE_ADDRESS = "source_address"
    CGROUP = "cgroup"
    MARK = "mark"
    HOST_TRAFFIC = HOST_TRAFFIC
    HOST_KIND = HOST_KIND


BY_U32 = (Kind.VNIC, Kind.SOURCE_ADDRESS, Kind.HOST_TRAFFIC, Kind.HOST_KIND)
"""What filters without a program of one's own can tell."""
VNIC_PREF = 10
IPV4_PREF = 100
IPV6_PREF = 200
_ANY_PACKET = "00000000/00000000 at 0"
_IPV4_SOURCE_OFFSET = 12
_IPV6_SOURCE_OFFSET = 8
_WORD_BITS = 32


Told = tuple[str, str, int, str | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A u32 match: how tc is told, and how the kernel shows it."""

    protocol: str
    pref: int
    argv: tuple[str, ...]
    indev: str | None
    shown: tuple[str, ...]

    @property
    def told(self) -> Told:
        """All that tells its packets."""
        return ("u32", self.protocol, self.pref, self.indev, self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """How the packets of a workload are told; `thing` is what of the kernel they come from."""

    told: Match | Sign
    thing: str | None


def told_by(item: Filter) -> Told:
    """What a filter in the kernel tells packets by."""
    return (item.kind, item.protocol, item.pref, item.indev, item.matches)


def match_for(selector: Selector) -> Match | str:
    """The match for a selector, or the reason why there is none."""
    match selector.kind:
        case Kind.VNIC:
            return _vnic(selector.value)
        case Kind.SOURCE_ADDRESS:
            return _source_address(selector.value)
        case _:
            known = f"{Kind.VNIC} or {Kind.SOURCE_ADDRESS}"
            return f"tc_htb recognises packets by {known}, not by {selector.kind}"


def _vnic(interface: str) -> Match:
    return Match(
        protocol="all",
        pref=VNIC_PREF,
        argv=("match", "u32", "0", "0", "indev", interface),
        indev=interface,
        shown=(_ANY_PACKET,),
    )


def _source_address(value: str) -> Match | str:
    try:
        network = ip_network(source_value(value))
    except ValueError as error:
        return str(error)
    if isinstance(network, IPv4Network):
        return _ipv4_source(network)
    return _ipv6_source(network)


def _ipv4_source(network: IPv4Network) -> Match:
    # Longer prefixes come first, so that the most specific one decides.
    return Match(
        protocol="ip",
        pref=IPV4_PREF + network.max_prefixlen - network.prefixlen,
        argv=("match", "ip", "src", str(network)),
        indev=None,
        shown=(_word(int(network.network_address), int(network.netmask), _IPV4_SOURCE_OFFSET),),
    )


def _ipv6_source(network: IPv6Network) -> Match:
    words = []
    for index in range(-(-network.prefixlen // _WORD_BITS)):
        shift = network.max_prefixlen - _WORD_BITS * (index + 1)
        address = int(network.network_address) >> shift & 0xFFFFFFFF
        mask = int(network.netmask) >> shift & 0xFFFFFFFF
        words.append(_word(address, mask, _IPV6_SOURCE_OFFSET + 4 * index))
    return Match(
        protocol="ipv6",
        pref=IPV6_PREF + network.max_prefixlen - network.prefixlen,
        argv=("match", "ip6", "src", str(network)),
        indev=None,
        shown=tuple(words),
    )


def _word(value: int, mask: int, offset: int) -> str:
    return f"{value:08x}/{mask:08x} at {offset}"
