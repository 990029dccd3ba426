"""Speaks with a QEMU over its monitor's socket (QMP): a few commands, with a time limit.

A monitor serves one client at a time; the others wait. So what is said is short, and is said
where the configuration allows it.
"""

import json
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from enforcers.errors import MonitorError, MonitorRefused

LIMIT_S = 1.0
"""So long a conversation may take, and as long holds up what else the agent does."""
REST_S = 60.0
"""A monitor that did not answer is left alone for so long."""
LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 1 << 16
_PEER = struct.Struct("3i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """The socket of one QEMU process, by absolute path; another process may not answer there."""

    path: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command, with its arguments by name."""

    command: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        said = [f"{key}={value}" for key, value in self.arguments.items()]
        return " ".join([self.command, *said])


class Monitors(Protocol):
    """The monitors of this host's guests."""

    def say(self, monitor: Monitor, orders: Sequence[Order]) -> list[Any]:
        """The answers to all orders. Raises MonitorError at the first that is refused."""
        ...


class SocketMonitors:
    """Real sockets. One that hangs is left alone for a while, so that it costs little."""

    def __init__(self, *, limit_s: float = LIMIT_S, rest_s: float = REST_S) -> None:
        self._limit_s = limit_s
        self._rest_s = rest_s
        self._rests_until_s: dict[Monitor, float] = {}

    def say(self, monitor: Monitor, orders: Sequence[Order]) -> list[Any]:
        now_s = time.monotonic()
        self._rests_until_s = {
            key: until_s for key, until_s in self._rests_until_s.items() if until_s > now_s
        }
        if monitor in self._rests_until_s:
            left_s = self._rests_until_s[monitor] - now_s
            raise MonitorRefused(f"did not answer lately; it is asked again in {left_s:.0f} s")
        try:
            return converse(monitor.path, orders, limit_s=self._limit_s, pid=monitor.pid)
        except MonitorError as error:
            if isinstance(error.__cause__, TimeoutError):
                self._rests_until_s[monitor] = time.monotonic() + self._rest_s
            raise


def converse(
    path: str, orders: Sequence[Order], *, limit_s: float, pid: int | None = None
) -> list[Any]:
    """What a monitor answers to each order. Raises MonitorError.

    The whole conversation takes `limit_s` at most. With `pid` nothing is said to a socket that
    another process has opened.
    """
    conversation = _Conversation(path, until_s=time.monotonic() + limit_s)
    try:
        conversation.connect()
        conversation.greeting(pid)
        conversation.ask(Order(command="qmp_capabilities"))
        return [conversation.ask(order) for order in orders]
    except TimeoutError as error:
        raise MonitorError(f"did not answer in {limit_s:g} s; another may use it") from error
    except OSError as error:
        raise MonitorError(error.strerror or str(error)) from error
    finally:
        conversation.close()


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

    def greeting(self, pid: int | None) -> None:
        peer = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        answers = _PEER.unpack(peer)[0]
        if pid is not None and answers != pid:
            raise MonitorRefused(f"belongs to process {answers}, not to {pid}")
        if "QMP" not in self._message():
            raise MonitorError("is no monitor of the kind QMP")

    def ask(self, order: Order) -> Any:
        self._limit()
        said: dict[str, Any] = {"execute": order.command}
        if order.arguments:
            said["arguments"] = dict(order.arguments)
        self._socket.sendall(json.dumps(said).encode() + b"\r\n")
        while True:
            message = self._message()
            if "return" in message:
                return message["return"]
            if "error" in message:
                raise MonitorRefused(f"refused {order.command}{_why(message['error'])}")

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


def _why(error: Any) -> str:
    """QEMU's own words."""
    said = error.get("desc") if isinstance(error, dict) else None
    return f": {said}" if isinstance(said, str) else ""
