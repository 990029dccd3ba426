"""Keys that sign the documents of hosts, one for each host, all from a few secrets of the server.

Nothing of them is stored: who has the secret and knows whose key it is makes the key again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

LEAST_SECRET = 32
"""Characters of a secret."""
_PURPOSE = b"sluice policy document key 1"


class KeyGone(Exception):
    """No secret of the server makes this key any more; the text says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyName:
    """Whose key: of a host of an organisation, by the random salt of one enrolment."""

    organisation: int
    host: str
    salt: str

    def __str__(self) -> str:
        return f"{self.host} of organisation {self.organisation}"

    @property
    def info(self) -> bytes:
        """Different for different names: only the last part can hold what stands between them."""
        return b"\n".join(
            (_PURPOSE, str(self.organisation).encode(), self.salt.encode(), self.host.encode())
        )


class Keyring:
    """Makes keys from the server's secrets; the first makes new ones."""

    def __init__(self, server_secrets: Sequence[str]) -> None:
        """Raises ValueError where there is none, or one is too short to be random."""
        if not server_secrets or any(len(one) < LEAST_SECRET for one in server_secrets):
            raise ValueError(
                f"needs one secret or more, each of at least {LEAST_SECRET} characters"
            )
        self._secrets = [one.encode() for one in server_secrets]

    def public(self, name: KeyName) -> bytes:
        """The public key of a host that is enrolled now."""
        return _key(self._secrets[0], name).public_key().public_bytes_raw()

    def sign(self, name: KeyName, message: bytes, *, public: bytes) -> bytes:
        """Sign by the key whose public one the host has. Raises KeyGone."""
        for secret in self._secrets:
            key = _key(secret, name)
            if key.public_key().public_bytes_raw() == public:
                return key.sign(message)
        raise KeyGone(
            f"the key that signs for {name} is not made by any secret in SLUICE_SIGNING_KEYS or "
            "the file signing-keys of the data directory: put the secret back from a backup, or "
            "give the host a new key: sluice enroll --rotate"
        )


def _key(secret: bytes, name: KeyName) -> Ed25519PrivateKey:
    """HKDF (RFC 5869) with SHA-256: from keys of hosts nobody learns those of others."""
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=name.info)
    return Ed25519PrivateKey.from_private_bytes(derived.derive(secret))
