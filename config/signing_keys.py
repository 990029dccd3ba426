"""The secrets from which the keys of hosts are made: for the signer alone, never a web server."""

import secrets
from pathlib import Path

from config import env
from config.secret_key import made_once

SIGNING_VARIABLES = ("SLUICE_SIGNING_KEYS", "SLUICE_SIGNING_KEYS_FILE")
"""No other process is given them."""


def signing_keys(path: Path) -> list[str]:
    """SLUICE_SIGNING_KEYS (or the file that SLUICE_SIGNING_KEYS_FILE names), or the file.

    The first makes new keys; the others are there for hosts that have keys of them.
    """
    given = env.secret("SLUICE_SIGNING_KEYS")
    return (given or made_once(path, lambda: secrets.token_urlsafe(32))).replace(",", " ").split()
