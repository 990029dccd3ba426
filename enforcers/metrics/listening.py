"""Opens the address of /metrics, and leaves nothing of it behind."""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from enforcers.metrics.address import Address, PortAddress

# More than can be answered at once wait in the kernel.
BACKLOG = 16
LONGEST_LOOK_S = 1.0


@contextmanager
def listening_at(address: Address) -> Iterator[socket.socket]:
    """A socket that takes connections, without waiting for any. Raises OSError if it is taken."""
    if isinstance(address, PortAddress):
        with _on_port(address) as listener:
            yield listener
        return
    with _on_path(address.path) as listener:
        ours = address.path.stat()
        try:
            yield listener
        finally:
            _remove(address.path, ours)


def _on_port(address: PortAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    # Without it a port stays taken for a minute after its last connection.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _opened(listener, (address.host, address.port))


def _on_path(path: Path) -> socket.socket:
    _remove_abandoned(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Before it has a name, so that it is never open to others (unix_bind_bsd in the kernel).
    os.fchmod(listener.fileno(), 0o600)
    return _opened(listener, str(path))


def _opened(listener: socket.socket, address: object) -> socket.socket:
    try:
        listener.setblocking(False)
        listener.bind(address)  # type: ignore[arg-type]  # a path or a pair, by family
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _remove_abandoned(path: Path) -> None:
    """Remove the socket of an agent that was killed; never what is none, or is in use."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise FileExistsError(errno.EEXIST, "there is something else in its place")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(LONGEST_LOOK_S)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _remove(path: Path, ours: os.stat_result) -> None:
    """Unless somebody else has the name by now."""
    with suppress(OSError):
        found = path.lstat()
        if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
            path.unlink()
