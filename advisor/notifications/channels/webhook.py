"""A webhook of one's own: JSON, signed, so that who gets it knows from whom it is.

`Sluice-Signature` is `t=SECONDS,v1=HEX`: the HMAC-SHA256 of `SECONDS.BODY` by the channel's
secret, as Stripe signs its webhooks. `Idempotency-Key` is the same each time one is sent again.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Timer
from urllib.parse import urlsplit
from uuid import UUID

from advisor.notifications.channels.channel import NotSent, Place
from advisor.notifications.channels.inside import open_address
from advisor.notifications.message import Message

TIMEOUT_S = 10.0
DEADLINE_S = 20.0
"""Of all of it: who answers a letter at a time never exceeds the other."""
TRY_AGAIN = {408, 425, 429}


class Webhook:
    """The address is an URL that begins with https:// or http://."""

    def problem(self, address: str) -> str:
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            return "this is no address of a webhook"
        if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
            return "a webhook begins with https:// and the name of a host"
        if parts.username is not None:
            return "no name and password stand in the address; the signature proves who sends"
        if not address.isascii() or not address.isprintable() or " " in address:
            return "an address has no spaces and no letters beyond ASCII"
        return ""

    def send(self, place: Place, message: Message, key: UUID) -> None:
        if problem := self.problem(place.address):
            raise NotSent(problem, is_permanent=True)
        body = json.dumps(message.plain(), separators=(",", ":")).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Sluice",
            "Idempotency-Key": str(key),
            "Sluice-Signature": signature(body, place.secret, at_s=int(time.time())),
        }
        try:
            status = post(place.address, body, headers)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NotSent(f"no answer: {' '.join(str(error).split())[:200]}") from error
        if not 200 <= status < 300:
            # A redirection is not followed: it could lead inside.
            is_permanent = status < 500 and status not in TRY_AGAIN
            raise NotSent(f"it answers {status}", is_permanent=is_permanent)


def signature(body: bytes, secret: str, *, at_s: int) -> str:
    """What stands in `Sluice-Signature`."""
    signed = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """The status of the answer, in 20 s at most. Raises OSError, HTTPException or NotSent."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    streams = [socket.create_connection((open_address(host, port), port), timeout=TIMEOUT_S)]
    deadline = Timer(DEADLINE_S, _cut, [streams])
    deadline.start()
    try:
        if parts.scheme == "https":
            encrypted = _encrypted(streams[0], host)
            streams.append(encrypted)
            encrypted.do_handshake()
        connection.sock = streams[-1]
        query = f"?{parts.query}" if parts.query else ""
        connection.request("POST", f"{parts.path or '/'}{query}", body, headers)
        return connection.getresponse().status
    finally:
        deadline.cancel()
        connection.close()
        for stream in streams:
            stream.close()


def _encrypted(stream: socket.socket, host: str) -> ssl.SSLSocket:
    """Not yet greeted, so that the deadline knows what it has to cut."""
    context = ssl.create_default_context()
    return context.wrap_socket(stream, server_hostname=host, do_handshake_on_connect=False)


def _cut(streams: Sequence[socket.socket]) -> None:
    """What waits for them ends with an error."""
    for stream in streams:
        with suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)
