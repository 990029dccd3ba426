"""One question and one answer over HTTP, within a time limit."""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from enforcers.config import Endpoint
from enforcers.errors import ConfigError, ServerError
from enforcers.version import VERSION

LARGEST_ANSWER_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the service said; `place` is what was asked, for errors."""

    status: int
    headers: Message
    body: bytes
    place: str

    def __str__(self) -> str:
        said = " ".join(self.body[:200].decode("utf-8", errors="replace").split())
        return f"{self.place}: status {self.status}: {said}"


class HttpExchange:
    """One connection per exchange; certificates are verified and redirects not followed."""

    def __init__(self, config: Endpoint) -> None:
        """Raises ConfigError if the certificate authority file is of no use."""
        self._config = config
        self._own_headers = {"User-Agent": f"sluice-enforcer/{VERSION}", "Connection": "close"}
        if config.socket is not None:
            # Nobody can listen on a socket of this machine; a server of HTTPS alone may know that.
            self._own_headers["X-Forwarded-Proto"] = "https"
        self._tls: ssl.SSLContext | None = None
        if config.url.scheme == "https":
            try:
                self._tls = ssl.create_default_context()
                if config.ca_file is not None:
                    self._tls.load_verify_locations(config.ca_file)
            except OSError as error:
                file = str(config.ca_file)
                raise ConfigError(file, "server.ca_file", file, str(error)) from error

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        most_s: float | None = None,
    ) -> Answer:
        """The whole answer, whatever its status. Raises ServerError if there is none.

        `most_s` is a time limit below that of the configuration.
        """
        headers = {**self._own_headers, **headers}
        own_s = self._config.timeout_s
        timeout_s = own_s if most_s is None else min(own_s, most_s)
        connection = self._connection(timeout_s)
        place = f"{method} {self._config.url.geturl().rstrip('/')}{path.partition('?')[0]}"
        try:
            connection.connect()
            with _time_limit(connection.sock, timeout_s):
                prefix = self._config.url.path.rstrip("/")
                connection.request(method, f"{prefix}{path}", body=body, headers=headers)
                response = connection.getresponse()
                answer = response.read(LARGEST_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{place}: {error or type(error).__name__}") from error
        finally:
            connection.close()
        if len(answer) > LARGEST_ANSWER_BYTES:
            raise ServerError(f"{place}: the answer exceeds {LARGEST_ANSWER_BYTES} bytes")
        _check_whole(response, place)
        return Answer(status=response.status, headers=response.headers, body=answer, place=place)

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        url = self._config.url
        host = url.hostname or ""
        if self._config.socket is not None:
            return _SocketConnection(host, self._config.socket, timeout_s)
        if self._tls is not None:
            return http.client.HTTPSConnection(
                host, url.port, timeout=timeout_s, context=self._tls
            )
        return http.client.HTTPConnection(host, url.port, timeout=timeout_s)


class _SocketConnection(http.client.HTTPConnection):
    """HTTP through a unix socket of this machine."""

    def __init__(self, host: str, path: Path, timeout_s: float) -> None:
        super().__init__(host, timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.settimeout(self.timeout)
        try:
            connected.connect(str(self._path))
        except OSError:
            connected.close()
            raise
        self.sock = connected


@contextlib.contextmanager
def _time_limit(connected: socket.socket, limit_s: float) -> Iterator[None]:
    """Cut the connection after a while: a socket's own limit holds for each piece only.

    The agent has leases to end, so a service that answers a byte at a time must not hold it up.
    """
    timer = threading.Timer(limit_s, _cut, [connected])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _check_whole(response: http.client.HTTPResponse, place: str) -> None:
    # http.client counts down what is missing, and knows nothing without an announced length.
    is_empty = response.status == http.client.NO_CONTENT
    is_announced = is_empty or response.chunked or "Content-Length" in response.headers
    if response.length or not is_announced:
        raise ServerError(f"{place}: the answer broke off")
