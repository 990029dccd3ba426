"""To which addresses Sluice connects for an organisation: not to all that its machine reaches."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from ingest.core.source_errors import AnswerError

SETTING = "SLUICE_SOURCE_ADDRESSES"
CLOUD_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"))
)
"""What tells a machine in a cloud its secrets; one of these is in a private network."""
PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
"""RFC 1918 and RFC 4193."""
NAT64 = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are the IPv4 address that is reached."""

Address = IPv4Address | IPv6Address


class Addresses(StrEnum):
    """Which addresses are reached."""

    PUBLIC = "public"
    PRIVATE = "private"
    ANY = "any"


def address_to_reach(host: str, port: int, allowed: Addresses) -> str:
    """One address of the host; AnswerError unless all that its name has are allowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AnswerError(f"{host} has no address: {error}") from error
    addresses = [str(address[0]) for *_, address in found]
    for one in addresses:
        if problem := address_problem(one, allowed):
            raise AnswerError(f"{host} is at {one}, {problem}")
    return addresses[0]


def address_problem(address: str, allowed: Addresses) -> str:
    """Why this address is not reached; empty if it is."""
    if allowed is Addresses.ANY:
        return ""
    for known in _meant(address):
        if known in CLOUD_METADATA:
            return f"where a cloud tells its machines their secrets; {SETTING}=any allows it"
        is_private = any(known in one for one in PRIVATE if one.version == known.version)
        if is_private:
            if allowed is Addresses.PUBLIC:
                return f"inside a private network; {SETTING}=private allows it"
        elif not known.is_global or known.is_multicast:
            return f"which is no address of another machine; {SETTING}=any allows it"
    return ""


def _meant(address: str) -> Iterator[Address]:
    """The address, and the IPv4 address that it stands for."""
    known = ip_address(address.partition("%")[0])
    if not isinstance(known, IPv6Address):
        yield known
        return
    mapped = known.ipv4_mapped
    if mapped is not None:
        yield mapped
        return
    yield known
    if known.sixtofour is not None:
        yield known.sixtofour
    if known.teredo is not None:
        yield from known.teredo
    if known in NAT64:
        yield IPv4Address(int(known) & 0xFFFFFFFF)
