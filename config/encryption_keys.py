"""The keys that encrypt secrets in the database: from the environment, or the data directory."""

import base64
import binascii
import secrets
from pathlib import Path

from config import env
from config.env import SettingError
from config.secret_key import made_once

KEY_BYTES = 32


def new_key() -> str:
    """A key of Fernet: 32 random bytes in URL-safe base 64."""
    return base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def encryption_keys(path: Path) -> list[str]:
    """SLUICE_ENCRYPTION_KEYS (or the file that SLUICE_ENCRYPTION_KEYS_FILE names), or the file.

    The newest comes first. Raises SettingError for a word that is no key, without showing it.
    """
    given = env.secret("SLUICE_ENCRYPTION_KEYS")
    place = "SLUICE_ENCRYPTION_KEYS" if given else str(path)
    words = (given or made_once(path, new_key)).replace(",", " ").split()
    for number, word in enumerate(words, start=1):
        if not _is_key(word):
            raise SettingError(
                f"{place}: word {number} is no key; `sluice secrets new-key` prints one"
            )
    if not words:
        raise SettingError(
            f"{place} has no key: put it back from a backup; the secrets in the database can be "
            "read by it alone"
        )
    return words


def _is_key(word: str) -> bool:
    try:
        return len(base64.b64decode(word, altchars=b"-_", validate=True)) == KEY_BYTES
    except (binascii.Error, ValueError):
        return False
