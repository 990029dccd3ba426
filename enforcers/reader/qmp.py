"""Asks a QEMU for what it counts of its disks, over its monitor's socket, and for nothing else.

A monitor serves one client at a time; the others wait. So the question is short, has a time
limit, and is put where the configuration allows it.
"""

import json
import socket
import time
from typing import Any

LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 1 << 16


class MonitorError(Exception):
    """The monitor gave no answer; the text is the reason."""


def query_blockstats(path: str, *, limit_s: float) -> list[dict[str, Any]]:
    """The answer to `query-blockstats`, which changes nothing. Raises `MonitorError`.

    The whole conversation takes `limit_s` at most.
    """
    conversation = _Conversation(path, until_s=time.monotonic() + limit_s)
    try:
        conversation.connect()
        conversation.greeting()
        conversation.ask("qmp_capabilities")
        found = conversation.ask("query-blockstats")
    except TimeoutError as error:
        raise MonitorError(f"did not answer in {limit_s:g} s; another may use it") from error
    except OSError as error:
        raise MonitorError(error.strerror or str(error)) from error
    finally:
        conversation.close()
    if not isinstance(found, list):
        raise MonitorError("answered what is no list of disks")
    return [one for one in found if isinstance(one, dict)]


class _Conversation:
    """Lines of JSON, one answer for each command; events in between are passed over."""

    def __init__(self, path: str, *, until_s: float) -> None:
        self._path = path
        self._until_s = until_s
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._rest = bytearray()
        self._taken = 0

    def connect(self) -> None:
        self._limit()
        self._socket.connect(self._path)

    def close(self) -> None:
        self._socket.close()

    def greeting(self) -> None:
        if "QMP" not in self._message():
            raise MonitorError("is no monitor of the kind QMP")

    def ask(self, command: str) -> Any:
        self._limit()
        self._socket.sendall(json.dumps({"execute": command}).encode() + b"\r\n")
        while True:
            message = self._message()
            if "return" in message:
                return message["return"]
            if "error" in message:
                raise MonitorError(f"refused {command}")

    def _message(self) -> dict[str, Any]:
        try:
            found = json.loads(self._line())
        except (ValueError, RecursionError) as error:
            raise MonitorError("answered what is no JSON") from error
        if not isinstance(found, dict):
            raise MonitorError("answered what is no object")
        return found

    def _line(self) -> bytes:
        searched = 0
        while (end := self._rest.find(b"\n", searched)) < 0:
            searched = len(self._rest)
            self._limit()
            chunk = self._socket.recv(_CHUNK_BYTES)
            if not chunk:
                raise MonitorError("closed the connection")
            self._taken += len(chunk)
            if self._taken > LARGEST_ANSWER_BYTES:
                raise MonitorError(f"answered more than {LARGEST_ANSWER_BYTES} bytes")
            self._rest += chunk
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line

    def _limit(self) -> None:
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
