"""Addresses inside the network of the server, to which nobody may lead it from outside."""

from __future__ import annotations

import ipaddress
import socket

from django.conf import settings

from advisor.notifications.channels.channel import NotSent


def open_address(host: str, port: int) -> str:
    """One address of a host to which a message may go. Raises NotSent.

    The caller connects to this address, so that a name that answers differently the next time
    leads nowhere else.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotSent(f"{host} has no address: {error.strerror or error}") from error
    addresses = [str(address[0]) for *_, address in found]
    for address in addresses:
        if settings.NOTIFY_INSIDE or _is_outside(address):
            return address
    raise NotSent(
        f"{host} is inside of this server's network ({addresses[0]}); "
        "SLUICE_NOTIFY_INSIDE=1 lets messages go there",
        is_permanent=True,
    )


def _is_outside(address: str) -> bool:
    known = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(known, "ipv4_mapped", None) or known
    return mapped.is_global and not mapped.is_multicast
