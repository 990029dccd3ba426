"""Secrets in the database are encrypted by keys that are not in it.

The newest key seals; what any of them sealed is opened. Fernet of `cryptography`: AES-128-CBC
with HMAC-SHA256.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

MARK = "sealed:"
"""What a sealed secret begins with."""


class Unsealable(Exception):
    """A secret that no key of this server opens; the text says what to do."""


class SealedBy(StrEnum):
    """Which key sealed a secret."""

    NEWEST = "newest"
    OLDER = "older"
    LOST = "lost"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Sealed:
    """A secret as it is stored."""

    stored: str = field(repr=False)


def seal(secret: str) -> str:
    """As it is stored; nothing of it can be seen there but its length, to 16 bytes."""
    return MARK + _keys()[0].encrypt(secret.encode()).decode()


def unseal(stored: str) -> str:
    """The secret again. Raises Unsealable."""
    for key in _keys():
        if (found := _opened(key, stored)) is not None:
            return found
    raise Unsealable(
        "a secret in the database was encrypted by a key that this server does not have: put the "
        f"line back that is missing in {_place()}, from a backup, or state the secret anew "
        "(sluice secrets check lists them)"
    )


def sealed_by(stored: str) -> SealedBy:
    """Which key opens it; NONE for one that is stored in clear."""
    if not stored.startswith(MARK):
        return SealedBy.NONE
    newest, *older = _keys()
    if _opened(newest, stored) is not None:
        return SealedBy.NEWEST
    is_known = any(_opened(key, stored) is not None for key in older)
    return SealedBy.OLDER if is_known else SealedBy.LOST


def _opened(key: Fernet, stored: str) -> str | None:
    from cryptography.fernet import InvalidToken

    if not stored.startswith(MARK):
        return None
    try:
        return key.decrypt(stored.removeprefix(MARK)).decode()
    except InvalidToken:
        return None


def _keys() -> list[Fernet]:
    return _fernets(tuple(settings.ENCRYPTION_KEYS()))


@lru_cache(maxsize=4)
def _fernets(keys: tuple[str, ...]) -> list[Fernet]:
    # Most processes open no secret, and need not hold the library.
    from cryptography.fernet import Fernet

    return [Fernet(key) for key in keys]


def _place() -> str:
    return f"SLUICE_ENCRYPTION_KEYS, or {settings.DATA_DIR.encryption_keys}"
