"""Addresses inside the network of the server, to which nobody may lead it from outside."""

from __future__ import annotations

import ipaddress
import socket

from django.conf import settings

from advisor.notifications.channels.channel import NotSent


def open_address(host: str, port: int) -> str:
    """One address of a host to which a message may go. Raises NotSent.

    Who connects to this address, and not to the name, is led nowhere else by a name that answers
    differently the next time. All addresses of the name must be outside, for who does not.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"{host} has no address: {error}") from error
    addresses = [str(address[0]) for *_, address in found]
    inside = [] if settings.NOTIFY_INSIDE else [one for one in addresses if not _is_outside(one)]
    if inside:
        raise NotSent(
            f"{host} is inside of this server's network ({inside[0]}); "
            "SLUICE_NOTIFY_INSIDE=1 lets messages go there",
            is_permanent=True,
        )
    return addresses[0]


def _is_outside(address: str) -> bool:
    known = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(known, "ipv4_mapped", None) or known
    return mapped.is_global and not mapped.is_multicast
