"""What it costs a packet to find its class, by u32 filters and by the BPF program, and HTB itself.

Small datagrams leave the host: from one source address after the other, each of which is a
workload's, and from the host's own, which no workload claims. The link is faster than they are, so
nothing waits; the other end drops them at once. Beside the agent's trees stands a plain pfifo,
which has no classes. All set-ups stand beside one another and take turns, and of each the middle
batch counts, in the sender's own CPU time.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.part import Effort, Part
from enforcers.contract import Allocation, Selector
from enforcers.mechanisms.tc_htb.program import find_classifier
from enforcers.runner import SubprocessRunner
from tests.enforcers.policies import desired, uplink, vnic
from tests.enforcers.rig import start_rig
from tests.host.network import SINK_ADDRESS, Network, network

COUNTS = (1, 25, 200)
LINK_BITS_PER_S = 40e9
# 50 batches of 32 packets from each set-up in each of so many turns.
TURNS = 20
BATCHES = 50
_HOST_ADDRESS = "10.77.255.1"
_NOWHERE = "02:00:00:00:00:99"

# Batches of 32 datagrams by one call each (sendmmsg), and the CPU of a packet in ns.
_SENDER = f"""
import ctypes, json, socket, sys, time
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]
class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint),
                ("vectors", ctypes.POINTER(Vector)), ("vector_count", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                ("flags", ctypes.c_size_t), ("sent", ctypes.c_size_t)]
batches, addresses = int(sys.argv[1]), sys.argv[2:]
vector = Vector(bytes(64), 64)
messages = (Message * 32)(*(Message(vectors=ctypes.pointer(vector), vector_count=1)
                            for _ in range(32)))
senders = []
for address in addresses:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind((address, 0))
    sender.connect(("{SINK_ADDRESS}", 9))
    senders.append(sender)
send = ctypes.CDLL(None, use_errno=True).sendmmsg
times_ns = []
for turn in range(batches + 5):
    descriptor = senders[turn * 37 % len(senders)].fileno()
    began_ns = time.thread_time_ns()
    sent = send(descriptor, messages, 32, 0)
    took_ns = time.thread_time_ns() - began_ns
    assert sent == 32, (turn, sent, ctypes.get_errno())
    if turn >= 5:
        times_ns.append(took_ns / 32)
print(json.dumps(times_ns))
"""


class _Way(StrEnum):
    """How packets find their class; by a pfifo in place of HTB none has one."""

    U32 = "u32"
    BPF = "BPF"
    PFIFO = "pfifo"


@dataclass(frozen=True, slots=True)
class _SetUp:
    """So many workloads, told this way."""

    count: int
    way: _Way

    def __str__(self) -> str:
        return f"{self.way}-{self.count}"

    @property
    def addresses(self) -> list[str]:
        """Those of its workloads."""
        return [f"10.88.0.{number}" for number in range(1, self.count + 1)]


_SET_UPS = tuple(_SetUp(count, way) for count in COUNTS for way in _Way)
_CLAIMED, _UNCLAIMED = "of a workload", "of the host itself"
_ASKED = {
    (where, count, _Way.U32): Asked(
        what=f"CPU of a packet {where}, {count} workloads, BPF beside u32",
        unit="ratio",
        word="<=",
        bound=bound,
    )
    for where, count, bound in (
        (_CLAIMED, 1, 1.1),
        (_CLAIMED, 25, 1.1),
        (_CLAIMED, 200, 0.95),
        (_UNCLAIMED, 200, 0.8),
    )
} | {
    (_CLAIMED, count, _Way.PFIFO): Asked(
        what=f"CPU of a packet {_CLAIMED}, {count} workloads, HTB beside pfifo", unit="ratio"
    )
    for count in COUNTS
}
"""By whose packets they are, the workloads, and the way that the program is set beside."""


def _measure(effort: Effort) -> list[Row]:
    del effort
    found = find_classifier(SubprocessRunner(), is_privileged=True)
    if found.program is None:
        raise RuntimeError(f"no BPF here: {found.why_not}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="sluice-testbed-")))
        built = {one: stack.enter_context(network(0, label=str(one))) for one in _SET_UPS}
        for one, own in built.items():
            _prepare(own, one, folder / str(one))
        claimed: dict[_SetUp, list[float]] = {one: [] for one in _SET_UPS}
        unclaimed: dict[_SetUp, list[float]] = {one: [] for one in _SET_UPS}
        for _ in range(TURNS):
            for one, own in built.items():
                claimed[one] += _send(own, one.addresses)
                unclaimed[one] += _send(own, [_HOST_ADDRESS])
    times_ns = {_CLAIMED: claimed, _UNCLAIMED: unclaimed}
    return [
        _row(asked, times_ns[where], _SetUp(count, beside))
        for (where, count, beside), asked in _ASKED.items()
    ]


def _prepare(built: Network, set_up: _SetUp, folder: Path) -> None:
    lines = [f"addr add {address}/32 dev up0" for address in set_up.addresses]
    lines.append(f"neigh replace {SINK_ADDRESS} lladdr {_NOWHERE} dev up0")
    built.runner.run(["ip", "-batch", "-"], stdin="\n".join(lines) + "\n")
    if set_up.way is _Way.PFIFO:
        built.runner.run(["tc", "qdisc", "replace", "dev", "up0", "root", "pfifo"])
        return
    folder.mkdir()
    rig = start_rig(folder, built.runner, by_u32=set_up.way is _Way.U32)
    own = [_from(number, address) for number, address in enumerate(set_up.addresses)]
    if rig.apply("tc_htb", desired(uplink(capacity=LINK_BITS_PER_S), *own)).changes:
        raise RuntimeError(f"{set_up} is not in force")


def _from(number: int, address: str) -> Allocation:
    return vnic(number, selector=Selector(kind="source_address", value=address))


def _send(built: Network, addresses: Sequence[str]) -> Sequence[float]:
    shown = built.runner.run([sys.executable, "-c", _SENDER, str(BATCHES), *addresses])
    return [float(value) for value in json.loads(shown)]


def _row(asked: Asked, times_ns: Mapping[_SetUp, Sequence[float]], beside: _SetUp) -> Row:
    by_program = statistics.median(times_ns[_SetUp(beside.count, _Way.BPF)])
    other = statistics.median(times_ns[beside])
    return asked.row(by_program / other, f"{by_program:.0f} and {other:.0f} ns")


CLASSIFY = Part(name="classify", asked=tuple(_ASKED.values()), measure=_measure)
