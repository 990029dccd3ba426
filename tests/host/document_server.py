"""A service for one agent, to run inside its namespace: documents from a folder, reports into it.

    document_server.py PORT FOLDER

FOLDER/document is answered to every pull, status 503 if it is not there; reports become
FOLDER/report-0001 and so on. Where FOLDER/lease-s has a number of seconds, the lease is renewed
each 30th part of it, half a minute at most, as by a service. Where FOLDER has a certificate and
its key, `server.pem`, it speaks TLS.
"""

import socketserver
import ssl
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from enforcers.contract import decode_document, encode_document, sign

FOLDER = Path(sys.argv[2])


class Service(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self) -> None:
        try:
            self._answer(200, renewed((FOLDER / "document").read_bytes()))
        except FileNotFoundError:
            self._answer(503, b"no document")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        number = len(list(FOLDER.glob("report-*"))) + 1
        whole = FOLDER / f"incoming-{number}"
        whole.write_bytes(body)
        whole.rename(FOLDER / f"report-{number:04}")
        self._answer(200, b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def renewed(document: bytes) -> bytes:
    """With a lease from the last round moment on, if leases are renewed."""
    lease = FOLDER / "lease-s"
    if not lease.exists():
        return document
    lease_s = float(lease.read_text())
    each_s = min(30.0, lease_s / 30)
    begins = datetime.fromtimestamp(time.time() // each_s * each_s, UTC)
    ends = begins + timedelta(seconds=lease_s)
    given = replace(decode_document(document), issued_at=begins, expires_at=ends)
    return encode_document(sign(given, (FOLDER / "signing-key").read_bytes()))


with socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Service) as server:
    if (FOLDER / "server.pem").exists():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(FOLDER / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print("ready", flush=True)
    server.serve_forever()
