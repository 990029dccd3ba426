"""Secrets and keys of the configuration: each is the one word of a file of its own."""

import stat
from pathlib import Path

from enforcers.config_table import ConfigTable
from enforcers.ed25519 import SECRET_BYTES
from enforcers.errors import SignatureError
from enforcers.signature import DocumentKey, ServerKey

SHORTEST_SECRET = 16
PUBLIC_MARK = "ed25519-public:"
SECRET_MARK = "ed25519-secret:"  # noqa: S105  what stands before one
_SHARED, _SERVER, _REPORT = "signing_key_file", "server_key_file", "report_key_file"


def take_keys(table: ConfigTable) -> tuple[DocumentKey, bytes | None]:
    """By what documents are checked, and the secret key by which reports are signed.

    Either a secret that the service has too, or the public key of the service and a key of the
    host. Raises ConfigError.
    """
    server, report = table.take_optional_path(_SERVER), table.take_optional_path(_REPORT)
    if server is None:
        if report is not None:
            raise table.refuse(_REPORT, str(report), "is used with server_key_file alone")
        return secret_word(table, _SHARED).encode(), None
    if (shared := table.take_optional_path(_SHARED)) is not None:
        raise table.refuse(_SHARED, str(shared), "leave it out beside server_key_file")
    if report is None:
        raise table.refuse(_REPORT, None, "is required beside server_key_file")
    return _server_key(table, server), _report_key(table, report)


def _server_key(table: ConfigTable, path: Path) -> ServerKey:
    word = _word(table, _SERVER, path)
    try:
        return ServerKey(public=_bytes(word, PUBLIC_MARK))
    except (ValueError, SignatureError) as error:
        allowed = f"must hold {PUBLIC_MARK} and the 64 digits of a public key of Ed25519"
        raise table.refuse(_SERVER, str(path), allowed) from error


def _report_key(table: ConfigTable, path: Path) -> bytes:
    word = _secret(table, _REPORT, path)
    try:
        return _bytes(word, SECRET_MARK)
    except ValueError:
        allowed = f"must hold {SECRET_MARK} and {2 * SECRET_BYTES} hexadecimal digits"
        # What `fromhex` says may show a part of the word.
        raise table.refuse(_REPORT, str(path), allowed) from None


def _bytes(word: str, mark: str) -> bytes:
    """The 32 bytes behind a mark. Raises ValueError."""
    found = bytes.fromhex(word.removeprefix(mark))
    if not word.startswith(mark) or len(found) != SECRET_BYTES:
        raise ValueError(f"no {mark} with {SECRET_BYTES} bytes")
    return found


def secret_word(table: ConfigTable, key: str) -> str:
    """The one word of a secret file that only its owner, or group, may read."""
    return _secret(table, key, table.take_path(key))


def _secret(table: ConfigTable, key: str, path: Path) -> str:
    word = _word(table, key, path)
    if path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
        raise table.refuse(key, str(path), f"must not be open to all; chmod o-rwx {path}")
    return word


def _word(table: ConfigTable, key: str, path: Path) -> str:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise table.refuse(key, str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise table.refuse(key, str(path), "must hold ASCII text") from error
    if len(text) < SHORTEST_SECRET or not text.isprintable() or " " in text:
        raise table.refuse(
            key, str(path), f"must hold one word of at least {SHORTEST_SECRET} characters"
        )
    return text
