"""Recognises a workload's packets on an uplink: by interfaces, or by addresses."""

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
_WORD_BITS = 32


class Side(StrEnum):
    """Which address of a packet, as tc calls it."""

    SOURCE = "src"
    DESTINATION = "dst"


_IPV4_OFFSETS = {Side.SOURCE: 12, Side.DESTINATION: 16}
_IPV6_OFFSETS = {Side.SOURCE: 8, Side.DESTINATION: 24}

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
            return address_match(selector.value, Side.SOURCE)
        case _:
            known = f"{Kind.VNIC} or {Kind.SOURCE_ADDRESS}"
            return f"tc_htb recognises packets by {known}, not by {selector.kind}"


def address_match(value: str, side: Side) -> Match | str:
    """The match for an address or network, or why it is none."""
    try:
        network = ip_network(source_value(value))
    except ValueError as error:
        return str(error)
    if isinstance(network, IPv4Network):
        return _ipv4(network, side)
    return _ipv6(network, side)


def adapter_match(address: str) -> Match:
    """The match for frames to an Ethernet address, whatever is in them."""
    digits = address.replace(":", "")
    first, rest = int(digits[:4], 16), int(digits[4:], 16)
    return Match(
        protocol="all",
        pref=VNIC_PREF,
        argv=(
            *("match", "u16", f"{first:#06x}", "0xffff", "at", "-14"),
            *("match", "u32", f"{rest:#010x}", "0xffffffff", "at", "-12"),
        ),
        indev=None,
        # tc widens the first two bytes to the word that they end.
        shown=(_word(first, 0xFFFF, -16), _word(rest, 0xFFFFFFFF, -12)),
    )


def _vnic(interface: str) -> Match:
    return Match(
        protocol="all",
        pref=VNIC_PREF,
        argv=("match", "u32", "0", "0", "indev", interface),
        indev=interface,
        shown=(_ANY_PACKET,),
    )


def _ipv4(network: IPv4Network, side: Side) -> Match:
    # Longer prefixes come first, so that the most specific one decides.
    shown = _word(int(network.network_address), int(network.netmask), _IPV4_OFFSETS[side])
    return Match(
        protocol="ip",
        pref=IPV4_PREF + network.max_prefixlen - network.prefixlen,
        argv=("match", "ip", side, str(network)),
        indev=None,
        shown=(shown,),
    )


def _ipv6(network: IPv6Network, side: Side) -> Match:
    words = []
    for index in range(-(-network.prefixlen // _WORD_BITS)):
        shift = network.max_prefixlen - _WORD_BITS * (index + 1)
        address = int(network.network_address) >> shift & 0xFFFFFFFF
        mask = int(network.netmask) >> shift & 0xFFFFFFFF
        words.append(_word(address, mask, _IPV6_OFFSETS[side] + 4 * index))
    return Match(
        protocol="ipv6",
        pref=IPV6_PREF + network.max_prefixlen - network.prefixlen,
        argv=("match", "ip6", side, str(network)),
        indev=None,
        shown=tuple(words),
    )


def _word(value: int, mask: int, offset: int) -> str:
    return f"{value:08x}/{mask:08x} at {offset}"
