"""Speaks with the service: fetches the policy document, delivers reports."""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from http import HTTPStatus

from enforcers.config import ServerConfig
from enforcers.errors import ConfigError, ServerError
from enforcers.version import VERSION

DOCUMENT_PATH = "/api/v1/enforcer/document"
REPORT_PATH = "/api/v1/enforcer/report"
LARGEST_ANSWER_BYTES = 4 * 1024 * 1024
_TRY_AGAIN = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
}


class Client:
    """One connection per exchange; certificates are verified and redirects not followed."""

    def __init__(self, config: ServerConfig) -> None:
        """Raises ConfigError if the certificate authority file is of no use."""
        self._config = config
        self._tls: ssl.SSLContext | None = None
        if config.url.scheme == "https":
            try:
                self._tls = ssl.create_default_context()
                if config.ca_file is not None:
                    self._tls.load_verify_locations(config.ca_file)
            except OSError as error:
                file = str(config.ca_file)
                raise ConfigError(file, "server.ca_file", file, str(error)) from error

    def fetch_document(self) -> bytes:
        """The current policy document. Raises ServerError."""
        return self._exchange("GET", DOCUMENT_PATH, None)

    def send_report(self, report: bytes) -> None:
        """Deliver a report. Raises ServerError."""
        self._exchange("POST", REPORT_PATH, report)

    def _exchange(self, method: str, path: str, body: bytes | None) -> bytes:
        headers = {
            "Authorization": f"Bearer {self._config.token}",
            "User-Agent": f"sluice-enforcer/{VERSION}",
            "Accept": "application/json",
            "Connection": "close",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        place = f"{method} {self._config.url.geturl().rstrip('/')}{path}"
        try:
            connection.connect()
            with _time_limit(connection.sock, self._config.timeout_s):
                prefix = self._config.url.path.rstrip("/")
                connection.request(method, f"{prefix}{path}", body=body, headers=headers)
                response = connection.getresponse()
                answer = response.read(LARGEST_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"{place}: {error or type(error).__name__}") from error
        finally:
            connection.close()
        _check_status(response.status, answer, place)
        _check_whole(response, answer, place)
        return answer

    def _connection(self) -> http.client.HTTPConnection:
        url, timeout_s = self._config.url, self._config.timeout_s
        host = url.hostname or ""
        if self._tls is not None:
            return http.client.HTTPSConnection(
                host, url.port, timeout=timeout_s, context=self._tls
            )
        return http.client.HTTPConnection(host, url.port, timeout=timeout_s)


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


def _check_whole(response: http.client.HTTPResponse, answer: bytes, place: str) -> None:
    if len(answer) > LARGEST_ANSWER_BYTES:
        raise ServerError(f"{place}: the answer exceeds {LARGEST_ANSWER_BYTES} bytes")
    # http.client counts down what is missing, and knows nothing without an announced length.
    is_announced = response.chunked or "Content-Length" in response.headers
    if response.length or not is_announced:
        raise ServerError(f"{place}: the answer broke off")


def _check_status(status: int, answer: bytes, place: str) -> None:
    if status == HTTPStatus.OK:
        return
    said = " ".join(answer[:200].decode("utf-8", errors="replace").split())
    is_final = 400 <= status < 500 and status not in _TRY_AGAIN
    raise ServerError(f"{place}: status {status}: {said}", is_final=is_final)
