"""The signer: the one process that has the secret of the hosts' keys. It has no database.

It signs policy documents and nothing else: only for the host whose key it is, dated now, with a
lease of a day at most. So who takes over a web server gets no key, and nothing for later.
"""

from __future__ import annotations

import json
import logging
import os
import socketserver
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from advisor.core.signing_keys import KeyGone, KeyName, Keyring
from advisor.core.signing_rules import refusal
from enforcers.contract import ContractError

LARGEST_LINE = 16 * 1024 * 1024
IDLE_S = 10.0

log = logging.getLogger(__name__)


def answer(line: bytes, keyring: Keyring, now: datetime) -> dict[str, Any]:
    """What the signer says to one question."""
    try:
        asked = json.loads(line)
        name = KeyName(
            organisation=int(asked["organisation"]), host=str(asked["host"]),
            salt=str(asked["salt"]),
        )  # fmt: skip
        message = asked.get("message")
        if message is None:
            return {"public": _text(keyring.public(name))}
        data, public = a2b_base64(message), a2b_base64(asked["public"])
        if reason := refusal(data, host=name.host, now=now):
            return {"refused": reason}
        return {"signature": _text(keyring.sign(name, data, public=public))}
    except KeyGone as error:
        return {"gone": str(error)}
    except (ContractError, KeyError, TypeError, ValueError, RecursionError) as error:
        return {"refused": f"{type(error).__name__}: {error}"}


class _Question(socketserver.StreamRequestHandler):
    timeout = IDLE_S

    def handle(self) -> None:
        assert isinstance(self.server, SigningServer)
        try:
            line = self.rfile.readline(LARGEST_LINE)
        except OSError:
            # It said nothing in time, or went away.
            return
        if line.strip():
            found = answer(line, self.server.keyring, self.server.clock())
            if "signature" not in found and "public" not in found:
                log.warning("not signed", extra={"reason": next(iter(found.values()))})
            self.wfile.write(json.dumps(found).encode() + b"\n")


class SigningServer(socketserver.ThreadingUnixStreamServer):
    """Listens on a socket that the server's own user alone may open."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path, keyring: Keyring, clock: Callable[[], datetime]) -> None:
        self.keyring, self.clock = keyring, clock
        path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            super().__init__(str(path), _Question)
        finally:
            os.umask(before)


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
