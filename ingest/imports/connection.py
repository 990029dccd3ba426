"""A connection to a source: to which address, trusted by what, and for how long."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Timer
from urllib.parse import urlsplit

from ingest.core.source_errors import AnswerError

TIMEOUT_S = 60.0
HTTP_PORT, HTTPS_PORT = 80, 443


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """By what its certificate is known: one that is pinned, its authority, or those of the system.

    `fingerprint` is the SHA-256 of the whole certificate, in 64 small hexadecimal digits; with it
    nothing else of the certificate counts. `authority` are certificates in PEM.
    """

    fingerprint: str = ""
    authority: str = ""
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How it is reached: `choose` names the address to connect to, for a host and port.

    Who connects to that, and not to the name, is led nowhere else by a name that answers
    differently the next time. With `limit_s` all of it ends after so long, however slowly the
    other side answers.
    """

    trust: Trust = field(default_factory=Trust)
    choose: Callable[[str, int], str] | None = None
    limit_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an address leads; `path` is without a slash at its end."""

    host: str
    port: int
    is_encrypted: bool
    path: str = ""


def place_of(url: str, *, paths: Collection[str] | None = None) -> Place:
    """What an address names; AnswerError says what is wrong with it.

    `paths` are those that it may have; None: any.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise AnswerError(f"{url} is no address: {error}") from error
    if parts.username or parts.password:
        raise AnswerError("leave user and password out of the address; give --user")
    path = parts.path.rstrip("/")
    if (
        parts.scheme not in ("http", "https")
        or not host
        or port == 0
        or not path.isascii()
        or (paths is not None and path not in paths)
        or parts.query
        or parts.fragment
    ):
        raise AnswerError(f"{url} is no address such as https://server.example.com")
    if parts.scheme == "http":
        if not _is_own(host):
            raise AnswerError(f"{url} would send the password unprotected; write https://")
        return Place(host=host, port=port or HTTP_PORT, is_encrypted=False, path=path)
    return Place(host=host, port=port or HTTPS_PORT, is_encrypted=True, path=path)


def _is_own(host: str) -> bool:
    """Whether it is an address of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def connected(url: str, way: Way) -> Iterator[HTTPConnection]:
    """A connection that ends with the block; network errors become SourceError."""
    is_over = Event()
    kind = _Encrypted if place_of(url).is_encrypted else _Plain
    connection = kind(url, way, is_over)
    limit = Timer(way.limit_s or 0.0, _cut, [connection, is_over])
    limit.daemon = True
    if way.limit_s is not None:
        limit.start()
    try:
        yield connection
    except (OSError, HTTPException) as error:
        if is_over.is_set():
            raise AnswerError(f"{url} did not finish within {way.limit_s:.0f} s") from error
        raise _told(url, error) from error
    finally:
        limit.cancel()
        connection.close()


def _told(url: str, error: Exception) -> AnswerError:
    """The error in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return AnswerError(
            f"the certificate of {url} is not trusted: {error.verify_message}; "
            "give the certificate of its authority with --ca-file"
        )
    if isinstance(error, ssl.SSLError):
        return AnswerError(f"{url} speaks no TLS that is accepted here: {error.reason}")
    if isinstance(error, TimeoutError):
        return AnswerError(f"{url} did not answer within {TIMEOUT_S:.0f} s")
    return AnswerError(f"{url} cannot be reached: {error}")


class _Plain(HTTPConnection):
    """To an address that was chosen, under the name of the host."""

    def __init__(self, url: str, way: Way, is_over: Event) -> None:
        place = place_of(url)
        self._url, self._is_over = url, is_over
        self._address = place.host if way.choose is None else way.choose(place.host, place.port)
        timeout_s = TIMEOUT_S if way.limit_s is None else min(TIMEOUT_S, way.limit_s)
        super().__init__(place.host, place.port, timeout=timeout_s)

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), timeout=self.timeout)
        if self._is_over.is_set():
            raise TimeoutError


class _Encrypted(_Plain):
    """The same by TLS; nothing is sent before the certificate is the one that is pinned."""

    def __init__(self, url: str, way: Way, is_over: Event) -> None:
        super().__init__(url, way, is_over)
        self._tls = _context(way.trust)
        self._fingerprint = way.trust.fingerprint

    def connect(self) -> None:
        super().connect()
        assert self.sock is not None
        # Not yet greeted, so that who cuts it off after a time finds it.
        encrypted = self._tls.wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = encrypted
        encrypted.do_handshake()
        if not self._fingerprint:
            return
        shown = sha256(encrypted.getpeercert(binary_form=True) or b"").hexdigest()
        if not compare_digest(shown, self._fingerprint):
            raise AnswerError(
                f"{self._url} shows another certificate than the one that is pinned: "
                f"its SHA-256 is {shown}"
            )


def _context(trust: Trust) -> ssl.SSLContext:
    try:
        found = ssl.create_default_context(
            cafile=None if trust.ca_file is None else str(trust.ca_file),
            cadata=trust.authority or None,
        )
    except (OSError, ValueError, ssl.SSLError) as error:
        what = trust.ca_file or "the certificate of the authority"
        raise AnswerError(f"{what} holds no certificate that can be read: {error}") from error
    if trust.fingerprint:
        found.check_hostname = False
        found.verify_mode = ssl.CERT_NONE
    return found


def authority_problem(pem: str) -> str:
    """What is wrong with certificates in PEM; empty for nothing."""
    try:
        _context(Trust(authority=pem))
    except AnswerError as error:
        return str(error)
    return ""


def _cut(connection: HTTPConnection, is_over: Event) -> None:
    """What waits for it ends with an error."""
    is_over.set()
    stream: socket.socket | None = connection.sock
    if stream is not None:
        with suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)
