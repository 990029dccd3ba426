"""Signatures over policy documents: by a secret of host and service, or by a key of the service.

The first, HMAC-SHA256, is of agents that were enrolled before there was the other, Ed25519.
"""

import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum

from enforcers import ed25519
from enforcers.errors import SignatureError

# Keeps a signature over a policy document from being valid for anything else.
_CONTEXT = b"sluice policy document v1\n"
_ED25519_CONTEXT = b"sluice policy document ed25519\n"


class SignatureKind(StrEnum):
    """How a document is signed."""

    HMAC = "hmac-sha256"
    ED25519 = "ed25519"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerKey:
    """The public key whose secret one the service has, for this host alone."""

    public: bytes

    def __post_init__(self) -> None:
        if not ed25519.is_public_key(self.public):
            raise SignatureError("these bytes are no public key of Ed25519")


DocumentKey = bytes | ServerKey
"""By what an agent knows the documents of its service: the secret itself is one of HMAC."""


def kind_of(key: DocumentKey) -> SignatureKind:
    """The kind of signature that a key checks."""
    return SignatureKind.ED25519 if isinstance(key, ServerKey) else SignatureKind.HMAC


def ed25519_message(message: bytes) -> bytes:
    """What is signed by Ed25519 for a document."""
    return _ED25519_CONTEXT + message


def is_made_by(key: DocumentKey, message: bytes, given: str) -> bool:
    """Whether a signature in hexadecimal is that of this message by this key.

    Raises SignatureError for an empty secret.
    """
    if not isinstance(key, ServerKey):
        return hmac.compare_digest(given.encode(), hmac_hex(message, key).encode())
    # `fromhex` takes blanks and capitals too; a signature is written in one way.
    if len(given) != 2 * ed25519.SIGNATURE_BYTES or not set(given) <= set("0123456789abcdef"):
        return False
    return ed25519.is_signed(ed25519_message(message), bytes.fromhex(given), key.public)


def hmac_hex(message: bytes, key: bytes) -> str:
    """The HMAC of a message in lower-case hexadecimal; an empty key is refused."""
    if not key:
        raise SignatureError("the signing key is empty")
    return hmac.new(key, _CONTEXT + message, hashlib.sha256).hexdigest()
