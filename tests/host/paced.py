"""Flows of datagrams: one whose losses are counted, and one of more than a link carries.

Both ends of the first run before all others, so that a datagram that is lost was lost on the way.
"""

from __future__ import annotations

import subprocess

from tests.host.network import SINK_ADDRESS, Network

PORT = 5203
PAYLOAD_BYTES = 1200
# Ethernet, IPv4 and UDP headers, as HTB counts them.
FRAME_BYTES = PAYLOAD_BYTES + 42

_FIRST = """
import contextlib, os, socket, time
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
"""
_RECEIVE = f"""{_FIRST}
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
listener.bind(("0.0.0.0", {PORT}))
print("ready", flush=True)
found = {{listener.recv(2048)[:8]}}
listener.settimeout(2.0)
with contextlib.suppress(TimeoutError):
    while True:
        found.add(listener.recv(2048)[:8])
print(len(found), flush=True)
"""


def _send(count: int, every_s: float) -> str:
    # After a pause of the machine it goes on with its pace, and makes up for nothing.
    return f"""{_FIRST}
import signal
told_to_end = []
signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(("{SINK_ADDRESS}", {PORT}))
print("ready", flush=True)
next_s = time.monotonic()
sent = 0
while sent < {count} and not told_to_end:
    time.sleep(max(0.0, next_s - time.monotonic()))
    sender.send(sent.to_bytes(8, "big") + bytes({PAYLOAD_BYTES - 8}))
    next_s = max(next_s, time.monotonic() - {every_s}) + {every_s}
    sent += 1
print(sent, flush=True)
"""


# Takes a port and reads nothing, so that what comes is neither answered nor refused.
DEAF = f"""
import socket, time
deaf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
deaf.bind(("0.0.0.0", {PORT}))
print("ready", flush=True)
time.sleep(3600)
"""


def flood(address: str, *, bits_per_s: float) -> str:
    """Code that sends to a deaf address; it makes up for at most 50 ms that it did not run."""
    return f"""
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(("{address}", {PORT}))
print("ready", flush=True)
payload = bytes({PAYLOAD_BYTES})
last_s, due = time.monotonic(), 0.0
while True:
    time.sleep(0.002)
    now_s = time.monotonic()
    due += min(now_s - last_s, 0.05) * {bits_per_s / 8 / FRAME_BYTES}
    last_s = now_s
    while due >= 1:
        sender.send(payload)
        due -= 1
"""


class PacedFlow:
    """A flow of so many bit/s on the wire, for about so long, that starts at once."""

    def __init__(
        self, network: Network, workload: int, *, bits_per_s: float, seconds: float
    ) -> None:
        every_s = FRAME_BYTES * 8 / bits_per_s
        self._network = network
        self._receiver = network.start(network.sink, _RECEIVE)
        code = _send(round(seconds / every_s), every_s)
        self._sender = network.start(network.workload(workload), code)

    def end(self) -> tuple[int, int]:
        """End it now; how many were sent, and how many of them arrived."""
        self._sender.terminate()
        return self.ended()

    def ended(self) -> tuple[int, int]:
        """Wait for the end; how many were sent, and how many of them arrived."""
        return self._count(self._sender), self._count(self._receiver)

    def _count(self, process: subprocess.Popen[str]) -> int:
        assert process.stdout is not None
        said = int(process.stdout.readline())
        self._network.stop(process)
        return said
