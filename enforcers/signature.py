"""HMAC-SHA256 over policy documents."""

import hashlib
import hmac

from enforcers.errors import SignatureError

# Keeps a signature over a policy document from being valid for anything else.
_CONTEXT = b"sluice policy document v1\n"


def hmac_hex(message: bytes, key: bytes) -> str:
    """The signature of a message in lower-case hexadecimal; an empty key is refused."""
    if not key:
        raise SignatureError("the signing key is empty")
    return hmac.new(key, _CONTEXT + message, hashlib.sha256).hexdigest()


def is_equal(given: str, expected: str) -> bool:
    """Whether two signatures match, in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
