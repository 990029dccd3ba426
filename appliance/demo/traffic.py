"""Real TCP traffic in plain Python: a sink that discards and a sender that never has enough.

Run as a program inside a namespace:

    traffic.py sink  ADDRESS PORT
    traffic.py send  ADDRESS PORT STREAMS

Both end on SIGTERM. It imports the standard library only, so any interpreter can start it.
"""

import contextlib
import selectors
import socket
import sys
import time

BLOCK_BYTES = 256 * 1024
CONNECT_DEADLINE_S = 10.0
# The kernel's default may be BBR, which paces and probes for seconds; these two share a
# drop-tail queue evenly within a second.
CONGESTION_CONTROLS = (b"cubic", b"reno")


def discard_all(address: str, port: int) -> None:
    """Accept every connection and throw away what it sends."""
    selector = selectors.DefaultSelector()
    with socket.create_server((address, port), backlog=64) as server:
        selector.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is server:
                    connection, _ = server.accept()
                    connection.setblocking(False)
                    selector.register(connection, selectors.EVENT_READ)
                else:
                    _discard(key.fileobj, selector)  # type: ignore[arg-type]  # only sockets are registered


def send_for_ever(address: str, port: int, streams: int) -> None:
    """Keep `streams` connections as full as TCP lets them be."""
    selector = selectors.DefaultSelector()
    for _ in range(streams):
        selector.register(_connect(address, port), selectors.EVENT_WRITE)
    block = bytes(BLOCK_BYTES)
    while True:
        for key, _ in selector.select():
            with contextlib.suppress(BlockingIOError):
                key.fileobj.send(block)  # type: ignore[union-attr]  # likewise


def _discard(connection: socket.socket, selector: selectors.BaseSelector) -> None:
    try:
        # TCP drops the bytes in the kernel when asked to truncate.
        ended = not connection.recv(BLOCK_BYTES, socket.MSG_TRUNC)
    except ConnectionError:
        ended = True
    if ended:
        selector.unregister(connection)
        connection.close()


def _connect(address: str, port: int) -> socket.socket:
    deadline = time.monotonic() + CONNECT_DEADLINE_S
    while True:
        connection = socket.socket()
        for name in CONGESTION_CONTROLS:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
                break
        try:
            connection.connect((address, port))
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            connection.setblocking(False)
            return connection


def main(argv: list[str]) -> None:
    role, address, port, *rest = argv
    if role == "sink":
        discard_all(address, int(port))
    else:
        send_for_ever(address, int(port), int(rest[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
