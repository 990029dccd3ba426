"""The u32 matches of a rule on packet headers. Pure.

u32 compares whole 32-bit words from the beginning of the IP header (RFC 791, RFC 8200).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from enforcers.mechanisms.tc_htb.classify import Match
from enforcers.mechanisms.tc_htb.host_kinds import (
    HeaderRule,
    HostKind,
    KindConfig,
    Network,
    Ports,
    Transport,
)
from enforcers.mechanisms.tc_htb.signs import Owner, Sign, Sort

# After the filters of workloads, whose packets are nobody else's.
FIRST_PREF = 1000
_PREFS_OF_RANK = 256
_IPV6_PREFS = 64
_IPV4_NUMBERS = {Transport.TCP: 6, Transport.UDP: 17, Transport.ICMP: 1}
_IPV6_NUMBERS = {**_IPV4_NUMBERS, Transport.ICMP: 58}
# Clients take their own ports from here on (net.ipv4.ip_local_port_range).
FIRST_CLIENT_PORT = 32_768
_PORT_BITS = 16

Word = tuple[int, int, int]
"""Offset, value and mask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficKind:
    """One kind of the host's own traffic, as the tree needs it.

    `signs` are what a BPF program tells it by, but for the control groups, which come and go.
    """

    kind: HostKind
    shares: int
    matches: tuple[Match, ...]
    signs: tuple[Sign, ...] = ()
    cgroups: tuple[str, ...] = ()


def traffic_kinds(configs: Iterable[KindConfig]) -> tuple[TrafficKind, ...]:
    """The kinds with their matches, each of which is there once."""
    return tuple(
        TrafficKind(
            kind=config.kind,
            shares=config.shares,
            matches=tuple(
                dict.fromkeys(match for rule in config.headers for match in header_matches(rule))
            ),
            signs=tuple(
                Sign(owner=Owner.HOST, sort=Sort.MARK, value=mark) for mark in config.marks
            ),
            cgroups=config.cgroups,
        )
        for config in configs
    )


def header_matches(rule: HeaderRule) -> tuple[Match, ...]:
    """All matches of a rule, without an order among them: any of them tells its packets.

    Ports count where the header has no options, and not of later fragments, which have none.
    """
    versions = (4, 6) if rule.peer is None else (rule.peer.version,)
    port_words = list(_port_words(rule.ports)) if rule.ports is not None else [None]
    return tuple(
        _match(rule, version, _words(rule, version, port_word))
        for version in versions
        for port_word in port_words
    )


def _match(rule: HeaderRule, version: int, words: list[Word]) -> Match:
    argv: list[str] = []
    for offset, value, mask in words:
        argv += ("match", "u32", f"0x{value:08x}", f"0x{mask:08x}", "at", str(offset))
    return Match(
        protocol="ip" if version == 4 else "ipv6",
        pref=_pref(rule, version),
        argv=tuple(argv),
        indev=None,
        shown=tuple(f"{value:08x}/{mask:08x} at {offset}" for offset, value, mask in words),
    )


def _pref(rule: HeaderRule, version: int) -> int:
    """First by whom a packet goes to, then by its protocol and port, then by its DSCP.

    Ports that clients take for themselves come after those of servers, longer prefixes first.
    """
    is_client_port = rule.ports is not None and rule.ports.last >= FIRST_CLIENT_PORT
    lacks = (rule.peer is None, rule.transport is None, is_client_port, rule.dscp is None)
    rank = sum(is_so << (len(lacks) - 1 - place) for place, is_so in enumerate(lacks))
    host_bits = 0 if rule.peer is None else rule.peer.max_prefixlen - rule.peer.prefixlen
    start = 0 if version == 4 else _IPV6_PREFS
    return FIRST_PREF + rank * _PREFS_OF_RANK + start + host_bits


def _words(rule: HeaderRule, version: int, port_word: tuple[int, int] | None) -> list[Word]:
    words = _ipv4_words(rule, port_word) if version == 4 else _ipv6_words(rule, port_word)
    merged: dict[int, tuple[int, int]] = {}
    for offset, value, mask in words:
        if mask:
            former_value, former_mask = merged.get(offset, (0, 0))
            merged[offset] = (former_value | value, former_mask | mask)
    return [(offset, value, mask) for offset, (value, mask) in sorted(merged.items())]


def _ipv4_words(rule: HeaderRule, port_word: tuple[int, int] | None) -> Iterator[Word]:
    if rule.dscp is not None:
        yield 0, rule.dscp << 18, 0x3F << 18
    if rule.transport is not None:
        yield 8, _IPV4_NUMBERS[rule.transport] << 16, 0xFF << 16
    if rule.peer is not None:
        yield from _address_words(rule.peer, 16)
    if port_word is not None:
        # A header of five words, and the first fragment: else the ports are not at 20.
        yield 0, 5 << 24, 0xF << 24
        yield 4, 0, 0x1FFF
        yield 20, *port_word


def _ipv6_words(rule: HeaderRule, port_word: tuple[int, int] | None) -> Iterator[Word]:
    if rule.dscp is not None:
        yield 0, rule.dscp << 22, 0x3F << 22
    if rule.transport is not None:
        yield 4, _IPV6_NUMBERS[rule.transport] << 8, 0xFF << 8
    if rule.peer is not None:
        yield from _address_words(rule.peer, 24)
    if port_word is not None:
        yield 40, *port_word


def _address_words(network: Network, offset: int) -> Iterator[Word]:
    for index in range(network.max_prefixlen // 32):
        shift = network.max_prefixlen - 32 * (index + 1)
        address = int(network.network_address) >> shift & 0xFFFFFFFF
        mask = int(network.netmask) >> shift & 0xFFFFFFFF
        yield offset + 4 * index, address, mask


def _port_words(ports: Ports) -> Iterator[tuple[int, int]]:
    """Value and mask of the word with both ports, of the source and of the destination.

    A client's own port says nothing of what it does, so ports of clients count only as the
    destination.
    """
    for value, mask in _blocks(ports):
        yield value, mask
        if value < FIRST_CLIENT_PORT:
            yield value << _PORT_BITS, mask << _PORT_BITS


def _blocks(ports: Ports) -> Iterator[tuple[int, int]]:
    """The largest aligned blocks that make up a range, as value and mask."""
    first = ports.first
    while first <= ports.last:
        size = first & -first
        while first + size - 1 > ports.last:
            size //= 2
        yield first, 0xFFFF & ~(size - 1)
        first += size
