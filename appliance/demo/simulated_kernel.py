"""A simulated host kernel: interfaces with counters, an uplink with traffic control, senders.

It is a process of its own that answers programs over a unix socket; `simulated_programs.py`
makes `tc`, `ip` and `unshare` for the agent to find on its PATH. The traffic is the model in
`fluid_uplink.py`, brought up to date whenever somebody looks.

    simulated_kernel.py SOCKET WIRE_BITS_PER_S UPLINK VNIC...
"""

import json
import random
import socketserver
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from appliance.demo.fluid_uplink import split_by_class, split_evenly
from appliance.demo.simulated_tree import FRAME_BYTES, Refused, SimulatedTree

SEED = 2
STEP_S = 0.1
VERSION = "utility, simulated"


@dataclass(slots=True, kw_only=True)
class Interface:
    """The counters of one interface."""

    received_bytes: float = 0.0
    sent_bytes: float = 0.0


@dataclass(slots=True)
class SimulatedKernel:
    """Interfaces by name, traffic control of each, and when the traffic was last computed."""

    wire_bits_per_s: float
    uplink: str
    vnics: tuple[str, ...]
    now_s: float
    chance: random.Random = field(default_factory=lambda: random.Random(SEED))  # noqa: S311
    interfaces: dict[str, Interface] = field(default_factory=dict)
    trees: dict[str, SimulatedTree] = field(default_factory=dict)
    is_sending: bool = False

    def __post_init__(self) -> None:
        for name in (self.uplink, *self.vnics):
            self.interfaces[name] = Interface()
            self.trees[name] = SimulatedTree()

    def answer(self, argv: Sequence[str], *, stdin: str, now_s: float) -> str:
        """Do what a program was called for and give what it prints. Raises Refused."""
        self.advance(now_s)
        program, *words = argv
        if words == ["-V"]:
            return f"{program} {VERSION}\n"
        if program == "unshare":
            return _in_fresh_namespace(words, stdin)
        if program == "start-senders":
            self.is_sending = True
            return ""
        if program == "counters":
            return json.dumps({name: _shown(item) for name, item in self.interfaces.items()})
        if program == "ip":
            return self._links(words)
        if words == ["-batch", "-"]:
            return self._batch(stdin.splitlines())
        return self._traffic_control(words)

    def advance(self, now_s: float) -> None:
        """Let the traffic flow until `now_s`, in steps."""
        while now_s - self.now_s >= STEP_S:
            self.now_s += STEP_S
            if self.is_sending:
                self._step()

    def _step(self) -> None:
        tree = self.trees[self.uplink]
        used = {name: tree.class_of(name) for name in self.vnics}
        if not tree.classes.keys() >= set(used.values()):
            # Without a class, as while a tree is being built, HTB does not hold packets back.
            rates = split_evenly(self.wire_bits_per_s, self.vnics, self.chance)
        else:
            classes = {name: tree.sender_class(classid) for name, classid in used.items()}
            rates = split_by_class(self.wire_bits_per_s, classes, self.chance)
            for name, classid in used.items():
                leaf = tree.classes[classid]
                leaf.sent_bytes += rates[name] / 8 * STEP_S
                leaf.overlimits += 1
                leaf.dropped += 1
        for name, rate in rates.items():
            moved = rate / 8 * STEP_S
            self.interfaces[name].received_bytes += moved
            self.interfaces[self.uplink].sent_bytes += moved

    def _links(self, words: Sequence[str]) -> str:
        if words != ["-j", "-d", "link", "show"]:
            raise Refused(f"ip {' '.join(words)}: not simulated")
        links = [
            {"ifname": name, "ifindex": number, "mtu": 1500, "gso_max_segs": 1}
            for number, name in enumerate(self.interfaces, start=1)
        ]
        return json.dumps(links)

    def _batch(self, lines: Sequence[str]) -> str:
        """Do what each line says, up to the first that is refused."""
        for number, line in enumerate(lines, start=1):
            try:
                self._traffic_control(line.split())
            except Refused as refusal:
                raise Refused(f"{refusal}\nCommand failed -:{number}") from refusal
        return ""

    def _traffic_control(self, words: Sequence[str]) -> str:
        plain = [word for word in words if word not in {"-s", "-d"}]
        kind, verb, _, device, *_ = plain
        if device not in self.trees:
            raise Refused(f'Cannot find device "{device}"')
        if verb == "show":
            return self.trees[device].show(kind)
        self.trees[device].change(plain)
        return ""


def _in_fresh_namespace(words: Sequence[str], stdin: str) -> str:
    """Run a command as `unshare --net` would: with a loopback interface and nothing else."""
    command = [word for word in words if word not in {"--net", "--user", "-r"}]
    if command == ["true"]:
        return ""
    if command != ["tc", "-batch", "-"]:
        raise Refused(f"unshare {' '.join(words)}: not simulated")
    fresh = SimulatedKernel(wire_bits_per_s=1.0, uplink="lo", vnics=(), now_s=0.0)
    return fresh.answer(command, stdin=stdin, now_s=0.0)


def _shown(item: Interface) -> dict[str, int]:
    received, sent = int(item.received_bytes), int(item.sent_bytes)
    faults = dict.fromkeys(("err_in", "err_out", "drop_in", "drop_out"), 0)
    return faults | {
        "bytes_recv": received,
        "bytes_sent": sent,
        "packets_recv": received // FRAME_BYTES,
        "packets_sent": sent // FRAME_BYTES,
    }


def serve(kernel: SimulatedKernel, socket: str) -> None:
    """Answer programs until the process is ended."""
    lock = threading.Lock()

    class Conversation(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked = json.loads(self.rfile.readline())
            try:
                with lock:
                    printed = kernel.answer(
                        asked["argv"], stdin=asked["stdin"], now_s=time.monotonic()
                    )
                answer = {"status": 0, "printed": printed, "error": ""}
            except Refused as refusal:
                answer = {"status": 2, "printed": "", "error": f"{refusal}\n"}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(socket, Conversation) as server:
        server.serve_forever()


def main(socket: str, wire_bits_per_s: str, uplink: str, *vnics: str) -> None:
    kernel = SimulatedKernel(
        wire_bits_per_s=float(wire_bits_per_s),
        uplink=uplink,
        vnics=vnics,
        now_s=time.monotonic(),
    )
    serve(kernel, socket)


if __name__ == "__main__":
    main(*sys.argv[1:])
