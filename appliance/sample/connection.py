"""Requests to the web server's socket, which is there whatever address and TLS the server has."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection

_TIMEOUT_S = 30.0
# Who reaches the socket is on this machine; a server may take nothing else.
_HEADERS = {"X-Forwarded-Proto": "https"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`retry_after` is what the server said of when to come again."""

    status: int
    body: bytes
    retry_after: str | None


def ask(
    socket_path: str,
    method: str,
    address: str,
    *,
    token: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request with this token; OSError or HTTPException without an answer."""
    sent = {**_HEADERS, "Authorization": f"Token {token}", **(headers or {})}
    with closing(_SocketConnection(socket_path)) as connection:
        connection.request(method, address, body, sent)
        answer = connection.getresponse()
        return Answer(
            status=answer.status,
            body=answer.read(),
            retry_after=answer.headers.get("Retry-After"),
        )


class _SocketConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
