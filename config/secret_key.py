"""Django's SECRET_KEY: from the environment, otherwise created in the data directory."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from config import env


def secret_key(path: Path) -> str:
    """SLUICE_SECRET_KEY (or the file in SLUICE_SECRET_KEY_FILE), or the stored key."""
    return env.secret("SLUICE_SECRET_KEY") or made_once(path, lambda: secrets.token_urlsafe(50))


def made_once(path: Path, make: Callable[[], str]) -> str:
    """What the file holds; it is made if it is missing, for its owner alone."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return _create(path, make())


def _create(path: Path, text: str) -> str:
    """Write a new file that only its owner may read; of two writers at once the first wins."""
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(text)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text()
