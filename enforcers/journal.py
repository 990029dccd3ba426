"""Log records as datagrams to journald, with a field for each value.

The protocol: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
"""

import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping
from typing import TextIO

SOCKET = "/run/systemd/journal/socket"
IDENTIFIER = "sluice-enforcer"
PREFIX = "SLUICE_"
LONGEST_FIELD_NAME = 64

# Those of syslog(3), from which down each level of logging counts.
_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
    (logging.NOTSET, 7),
)
_NO_FIELD_LETTER = re.compile(r"[^A-Z0-9_]")


def is_journal(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a stream leads to journald: systemd names its device and inode."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


class JournalHandler(logging.Handler):
    """Sends each record, and waits for nobody.

    A record that the socket does not take goes to standard error, which leads to the journal
    too, with its priority alone. While journald is too slow, records are lost and counted.
    """

    def __init__(
        self,
        message: Callable[[logging.LogRecord], str],
        fields: Callable[[logging.LogRecord], Mapping[str, object]],
        *,
        address: str | None = None,
        stream: TextIO | None = None,
    ) -> None:
        super().__init__()
        self._message = message
        self._fields = fields
        self._address = address or SOCKET
        self._stream = stream or sys.stderr
        self._lost = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        try:
            self._emit(record)
        except Exception:  # noqa: BLE001  (what is told must never end what is done)
            self.handleError(record)

    def close(self) -> None:
        """Send no more."""
        self._socket.close()
        super().close()

    def _emit(self, record: logging.LogRecord) -> None:
        message = self._message(record)
        fields = {f"{PREFIX}{_name(key)}": value for key, value in self._fields(record).items()}
        if self._lost:
            fields[f"{PREFIX}LOST_BEFORE"] = self._lost
        priority = _priority(record.levelno)
        known = {
            "MESSAGE": message,
            "PRIORITY": priority,
            "SYSLOG_IDENTIFIER": IDENTIFIER,
            "LOGGER": record.name,
            **fields,
        }
        try:
            self._socket.sendto(encoded(known), self._address)
        except BlockingIOError:
            self._lost += 1
        except OSError:
            # No such socket, or a record that is too long for a datagram.
            lines = message.splitlines() or [""]
            self._stream.write("".join(f"<{priority}>{line}\n" for line in lines))
            self._stream.flush()
        else:
            self._lost = 0


def encoded(fields: Mapping[str, object]) -> bytes:
    """The datagram for these fields; those of None are left out."""
    return b"".join(
        _field(name, str(value)) for name, value in fields.items() if value is not None
    )


def _field(name: str, value: str) -> bytes:
    data = value.encode(errors="replace")
    if b"\n" not in data:
        return b"%s=%s\n" % (name.encode(), data)
    return b"%s\n%s%s\n" % (name.encode(), len(data).to_bytes(8, "little"), data)


def _name(key: str) -> str:
    return _NO_FIELD_LETTER.sub("_", key.upper())[: LONGEST_FIELD_NAME - len(PREFIX)]


def _priority(level: int) -> int:
    return next(priority for least, priority in _PRIORITIES if level >= least)
