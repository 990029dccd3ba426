"""Whether the address for the web server is free, and under which names it may be called."""

import errno
import os
import socket

from appliance.embedded.errors import EmbeddedError

ALWAYS_ALLOWED = ("localhost", "127.0.0.1", "[::1]")
WILDCARDS = ("0.0.0.0", "::")  # noqa: S104  compared only


def check_address_is_free(host: str, port: int) -> None:
    """Refuse an address that the web server could not listen on.

    Raises EmbeddedError that names a way out.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise EmbeddedError(f"cannot listen on {host}: {error.strerror}") from error
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise EmbeddedError(_refusal(host, port, error)) from error


def _refusal(host: str, port: int, error: OSError) -> str:
    other = f"choose another with --port, e.g. make run ARGS='--port {port + 1}'"
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} on {host} is taken by another program; {other}"
        case errno.EACCES:
            return f"port {port} needs root; {other}"
        case _:
            return f"cannot listen on {host} port {port}: {os.strerror(error.errno or 0)}"


def allowed_hosts(host: str) -> str:
    """The names a browser may use for the server, as SLUICE_ALLOWED_HOSTS takes them.

    A server for other machines is called by this machine's names, or by what the user set.
    """
    names = [*ALWAYS_ALLOWED]
    if host in WILDCARDS:
        names += [socket.gethostname(), socket.getfqdn()]
    elif host not in names:
        names.append(host)
    chosen = os.environ.get("SLUICE_ALLOWED_HOSTS")
    return ",".join([*names, chosen] if chosen else names)
