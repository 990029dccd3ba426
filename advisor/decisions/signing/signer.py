"""Who signs the documents of hosts: this process, or a signer beside it that alone has the key.

A web server asks the signer on a socket of this machine. What a person starts on the server, such
as `sluice enroll`, has the secret itself.
"""

from __future__ import annotations

import json
import socket
from binascii import a2b_base64, b2a_base64
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from advisor.core.signing_keys import KeyGone, KeyName, Keyring

TIMEOUT_S = 5.0
LARGEST_LINE = 16 * 1024 * 1024
"""A document of 8 MB in base 64; agents read no answer above 4 MB."""


class SignerUnavailable(Exception):
    """Nobody signs now; the text says what to do."""


class Signer(Protocol):
    """Makes signatures by keys of hosts."""

    def public(self, name: KeyName) -> bytes:
        """The public key of a host that is enrolled now. Raises SignerUnavailable."""
        ...

    def sign(self, name: KeyName, message: bytes, *, public: bytes) -> bytes:
        """Sign by the key with this public one. Raises KeyGone and SignerUnavailable."""
        ...


def find_signer() -> Signer:
    """The one that this process uses. Raises SignerUnavailable."""
    if settings.SIGNER_SOCKET is not None:
        return RemoteSigner(Path(settings.SIGNER_SOCKET))
    try:
        return Keyring(settings.SIGNING_KEYS())
    except (OSError, ValueError) as error:
        raise SignerUnavailable(f"SLUICE_SIGNING_KEYS: {error}") from error


class RemoteSigner:
    """Asks the signer on this machine; one question per connection."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def public(self, name: KeyName) -> bytes:
        return a2b_base64(self._ask(name)["public"])

    def sign(self, name: KeyName, message: bytes, *, public: bytes) -> bytes:
        answer = self._ask(name, public=_text(public), message=_text(message))
        if gone := answer.get("gone"):
            raise KeyGone(gone)
        return a2b_base64(answer["signature"])

    def _ask(self, name: KeyName, **more: str) -> dict[str, Any]:
        asked = {"organisation": name.organisation, "host": name.host, "salt": name.salt, **more}
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(TIMEOUT_S)
                connection.connect(str(self._path))
                connection.sendall(json.dumps(asked).encode() + b"\n")
                with connection.makefile("rb") as lines:
                    answer: dict[str, Any] = json.loads(lines.readline(LARGEST_LINE))
        except (OSError, ValueError) as error:
            raise SignerUnavailable(
                f"the signer at {self._path} does not answer ({error}); sluice run starts it, "
                "elsewhere: python -m appliance.signer"
            ) from error
        if refused := answer.get("refused"):
            raise SignerUnavailable(f"the signer refuses: {refused}")
        return answer


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
