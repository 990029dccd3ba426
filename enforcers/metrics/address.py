"""Where /metrics is served: on a unix socket, or on a port that only this machine reaches."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

# sun_path of unix(7) has 108 bytes, and ends with a zero.
LONGEST_PATH_BYTES = 107
ALLOWED = "must be the path of a socket, or 127.0.0.1:PORT or [::1]:PORT"

_WITH_PORT = re.compile(r"(?P<host>[^/]*):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketAddress:
    """A unix socket, which only its owner may open."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortAddress:
    """A port of a loopback address, which everybody on this machine may open."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Address = SocketAddress | PortAddress


def parse_address(text: str, folder: Path) -> Address:
    """An address from a configuration file in `folder`. Raises ValueError with what is allowed."""
    found = _WITH_PORT.fullmatch(text)
    if found is not None:
        return _port_address(found["host"], int(found["port"]))
    path = folder / text
    if len(bytes(path)) > LONGEST_PATH_BYTES:
        raise ValueError(f"must have at most {LONGEST_PATH_BYTES} bytes, as a path of a socket")
    return SocketAddress(path=path)


def _port_address(host: str, port: int) -> PortAddress:
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError as error:
        raise ValueError(ALLOWED) from error
    if not address.is_loopback or not 1 <= port <= 65535:
        raise ValueError(ALLOWED)
    return PortAddress(host=str(address), port=port)
