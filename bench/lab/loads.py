"""Loads of the laboratory, as code that runs in a workload's namespace and sends to the sink.

| kind | what it does |
|---|---|
| steady | sends at a rate; what a full link held up is dropped, as by a sensor |
| deferred | sends at a rate; what a full link held up is sent later, as by a copy of changes |
| bursts | sends at a rate while on, and nothing while off |
| clients | so many clients send a piece, wait until it has arrived, and think |
| greedy | so many connections send all they can |

Nobody but the laboratory knows which load a workload has: what is scored is told from its rates.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from random import Random

from tests.host.network import PORT, SINK_ADDRESS

MBIT = 1e6
ON_WIRE = 1.045
"""Bytes of frames for each byte sent, with headers of TCP, IP and Ethernet."""

CODE = """
import fcntl, json, socket, struct, sys, termios, threading, time
load = json.loads({load!r})
random = __import__("random").Random(load["seed"])
PIECE = bytes(1 << 16)

def connection():
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
    found.connect(({address!r}, {port}))
    return found

def at_rate(bytes_per_s, sending, until_s, keeps_up):
    # In steps of 10 ms; `due` counts what should have been sent.
    due, began_s = 0.0, time.monotonic()
    while (now_s := time.monotonic()) < until_s:
        due += bytes_per_s * (now_s - began_s)
        began_s = now_s
        if not keeps_up:
            due = min(due, bytes_per_s * 0.1)
        while due >= 1400 and time.monotonic() < until_s:
            sent = sending.send(PIECE[: min(int(due), 16384)])
            due -= sent
            if not keeps_up and time.monotonic() - now_s > 0.1:
                due = 0.0
        time.sleep(0.01)

def forever(bytes_per_s, sending, keeps_up):
    at_rate(bytes_per_s, sending, time.monotonic() + 1e6, keeps_up)

def bursts(bytes_per_s, on_s, off_s, sending):
    time.sleep(random.uniform(0, on_s + off_s))
    while True:
        at_rate(bytes_per_s, sending, time.monotonic() + on_s * random.uniform(0.5, 1.5), False)
        time.sleep(off_s * random.uniform(0.5, 1.5))

def client(piece_bytes, think_s, sending):
    time.sleep(random.uniform(0, think_s + 0.01))
    while True:
        sending.sendall(PIECE[:piece_bytes])
        while struct.unpack("i", fcntl.ioctl(sending, termios.TIOCOUTQ, b"\\0" * 4))[0]:
            time.sleep(0.001)
        time.sleep(random.expovariate(1 / think_s) if think_s else 0)

def greedy(sending):
    while True:
        sending.sendall(PIECE)

kind, rate = load["kind"], load["bytes_per_s"]
jobs = {{
    "steady": lambda one: forever(rate, one, False),
    "deferred": lambda one: forever(rate, one, True),
    "bursts": lambda one: bursts(rate, load["on_s"], load["off_s"], one),
    "clients": lambda one: client(load["piece_bytes"], load["think_s"], one),
    "greedy": greedy,
}}
connections = [connection() for _ in range(load["connections"])]
threads = [
    threading.Thread(target=jobs[kind], args=(one,), daemon=True) for one in connections
]
for thread in threads:
    thread.start()
print("ready", flush=True)
for thread in threads:
    thread.join()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One load; rates are of the payload of one connection."""

    kind: str
    bytes_per_s: float = 0.0
    connections: int = 1
    on_s: float = 0.0
    off_s: float = 0.0
    piece_bytes: int = 0
    think_s: float = 0.0
    seed: int = 0

    @property
    def code(self) -> str:
        """What runs in the namespace."""
        return CODE.format(load=json.dumps(asdict(self)), address=SINK_ADDRESS, port=PORT)


def usual_load(random: Random, bits_per_s: float, link_bits_per_s: float) -> Load:
    """A load that sends about this rate, frames included, while the link is free."""
    (kind,) = random.choices(("steady", "deferred", "bursts", "clients"), (35, 15, 25, 25))
    rate = bits_per_s / 8 / ON_WIRE
    seed = random.randrange(10**6)
    if kind == "bursts":
        on_s, off_s = random.uniform(0.7, 3), random.uniform(0.7, 4)
        whole = rate * (on_s + off_s) / on_s
        return Load(kind=kind, bytes_per_s=whole, on_s=on_s, off_s=off_s, seed=seed)
    if kind != "clients":
        return Load(kind=kind, bytes_per_s=rate, seed=seed)
    clients, piece = random.randint(1, 8), random.choice((8192, 32768, 65536))
    sending_s = piece * 8 * ON_WIRE / link_bits_per_s + 0.002
    think_s = max(clients * piece / rate - sending_s, 0.0)
    return Load(kind=kind, connections=clients, piece_bytes=piece, think_s=think_s, seed=seed)


def unusual_load(random: Random, link_bits_per_s: float) -> Load:
    """What comes on top in the incident, more than the link has left."""
    (kind,) = random.choices(("greedy", "clients", "steady"), (5, 2, 3))
    seed = random.randrange(10**6)
    if kind == "greedy":
        return Load(kind=kind, connections=random.choice((2, 4, 8, 16)), seed=seed)
    if kind == "clients":
        return Load(
            kind=kind,
            connections=random.randint(8, 32),
            piece_bytes=32768,
            think_s=random.uniform(0, 0.06),
            seed=seed,
        )
    rate = link_bits_per_s * random.uniform(0.5, 1.6) / 8 / ON_WIRE
    return Load(kind=kind, bytes_per_s=rate, seed=seed)
