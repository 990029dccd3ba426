"""A server of HTTP on this machine, for a stand-in of something that a worker reads."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextmanager
def small_server(
    handler: type[BaseHTTPRequestHandler], certificate: Path | None, goes_on: threading.Event
) -> Iterator[str]:
    """Its address; with a file of its key and certificate it speaks TLS.

    In the end `goes_on` is set, so that whoever drips lets it end.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    scheme = "http"
    if certificate is not None:
        scheme = "https"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_port}"
    finally:
        goes_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


def drip(handler: BaseHTTPRequestHandler, goes_on: threading.Event) -> bool:
    """Send a byte now and then instead of an answer; whether the client is still there."""
    while not goes_on.wait(0.02):
        try:
            handler.wfile.write(b"H")
        except OSError:
            return False
    return True
