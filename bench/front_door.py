"""How fast the web server answers beside clients that are slow, silent or idle.

    .venv/bin/python -m bench.front_door [--json FILE]

The product's own server and database. Slow clients are 200, of seven kinds, two of them senders
of samples with a valid token, and 2,000 keep a connection open and say nothing; each comes from an
address of 127.0.0.0/8 that has few of them.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.fleet.rows import Row, as_json, as_table, at_most
from bench.private_server import private_server

SLOW, IDLE, PROBES = 200, 2000, 300
P99_S = 0.2
PATHS = {"/ping": b"204", "/health": b"200", "/login/": b"200"}
FORM = (
    b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n"
)
SAMPLES = (
    b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Token %s\r\n"
    b"Content-Length: 900\r\n\r\ndiskio,"
)
SAID = (
    b"",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ",
    FORM + b"Content-Length: 900\r\n\r\nusername=",
    FORM + b"Transfer-Encoding: chunked\r\n\r\n4\r\nuse",
    20 * b"GET /login/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
)


def rows(port: int, token: str) -> list[Row]:
    """What probes of each path take, alone and beside the others; they have a token of samples."""
    measured = [_row(port, path, "alone") for path in PATHS]
    with _others(port, token.encode()):
        return measured + [
            _row(port, path, f"beside {SLOW} slow clients and {IDLE} idle ones") for path in PATHS
        ]


def _row(port: int, path: str, when: str) -> Row:
    times = sorted(_seconds(port, path) for _ in range(PROBES))
    p99 = times[int(0.99 * PROBES)]
    return at_most(f"{path} {when}, p99 of {PROBES}", "s", P99_S, round(p99, 4))


def _seconds(port: int, path: str) -> float:
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        if PATHS[path] not in connection.recv(100):
            raise RuntimeError(f"{path} is answered otherwise than by {PATHS[path].decode()}")
    return time.perf_counter() - began


@contextmanager
def _others(port: int, token: bytes) -> Iterator[None]:
    said = (*SAID, *(SAMPLES % (path, token) for path in (b"/write", b"/api/v2/write")))
    with ExitStack() as held:
        for index in range(SLOW + IDLE):
            other = held.enter_context(socket.socket())
            # Little room, so that an answer that nobody takes waits in the server.
            other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            other.bind((f"127.0.1.{1 + index % 100}", 0))
            other.connect(("127.0.0.1", port))
            other.sendall(said[index % len(said)] if index < SLOW else b"")
        # Some of them ask for 20 pages, which cost the others what pages cost.
        time.sleep(10.0)
        yield


def main() -> None:
    """Measure and print; `--json` also writes the rows to a file."""
    parser = argparse.ArgumentParser(description="the web server beside slow and idle clients")
    parser.add_argument("--json", type=Path, metavar="FILE")
    file: Path | None = parser.parse_args().json
    with tempfile.TemporaryDirectory(prefix="sluice-door-") as folder:
        Path(folder).chmod(0o755)
        with private_server(Path(folder), timescaledb=False, durable=False):
            from accounts.models import Organisation, Scope, Token
            from tests.ingest.wire import WebServer

            _, token = Token.objects.issue(
                organisation=Organisation.objects.create(slug="northgate"),
                scope=Scope.INGEST,
                name="slow senders",
            )
            server = WebServer(Path(folder))
            server.start()
            try:
                found = rows(server.port, token)
            finally:
                server.stop()
    print(as_table(found))
    if file:
        file.write_text(json.dumps(as_json(found), indent=1) + "\n")


if __name__ == "__main__":
    main()
