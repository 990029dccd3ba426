"""Experiment 2 of the NetIOC study: a web server and its database beside heavy traffic.

Both run on the host, so that what they say to each other crosses no uplink. Clients at the far end
ask the web server, which asks the database twice and answers with a page. 12 other workloads send
as much as they can. The study's 500 of 10,000 Mbit/s for the web server are 5 of 94 here.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.host import LINK_MBPS, Host, host
from bench.testbed.network.part import ROUNDS, Effort, Part
from enforcers.contract import Allocation
from tests.enforcers.policies import vnic
from tests.host.network import NamespaceRunner

WEB, DATABASE = 1, 2
SENDERS = range(3, 15)
RESERVED_BITS_PER_S = 5e6
PORT = 8080
PAGE_BYTES = 2000
QUERIES = 2
LONGEST_S = 8
# The link without an agent: a plain queue of 50 ms for all.
PLAIN_LINK = f"tbf rate {LINK_MBPS:.0f}mbit burst 64kb latency 50ms"
_ASKED = Asked(
    what="NetIOC study, experiment 2: a reserved web server's mean response beside 12 bulk "
    "senders, beside unloaded",
    unit="ratio",
    word="<=",
    bound=1.15,
)

# What waits for packets runs before all others, so that it does not wait for a processor too.
_FIRST = """
import contextlib, json, os, socket, sys, time
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
def whole(connection, count):
    while count:
        count -= len(connection.recv(count)) or sys.exit()
"""


def _serving(answer: str, before: str = "") -> str:
    return f"""{_FIRST}
listener = socket.create_server(("0.0.0.0", {PORT}))
{before}
print("ready", flush=True)
while True:
    connection = listener.accept()[0]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(64):
{answer}
"""


_DATABASE = _serving("        connection.sendall(bytes(64))")
_WEB = _serving(
    f"""
        for _ in range({QUERIES}):
            database.sendall(bytes(64))
            whole(database, 64)
        connection.sendall(bytes({PAGE_BYTES}))
""",
    before=f'database = socket.create_connection(("10.77.{DATABASE}.2", {PORT}))',
)
_CLIENT = f"""{_FIRST}
web = socket.create_connection(("10.77.{WEB}.2", {PORT}))
web.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
times_s = []
began_s = time.monotonic()
for _ in range(int(sys.argv[1])):
    asked_s = time.monotonic()
    if asked_s > began_s + {LONGEST_S}:
        break
    web.sendall(bytes(64))
    whole(web, {PAGE_BYTES})
    times_s.append(time.monotonic() - asked_s)
    time.sleep(0.01)
print(json.dumps(times_s))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Responses:
    """Mean times of a page: over the uplink, and from the host itself, past every class."""

    far_ms: float
    near_ms: float


def _measure(effort: Effort) -> list[Row]:
    others = tuple(vnic(number) for number in (DATABASE, *SENDERS))
    reserved = (vnic(WEB, RESERVED_BITS_PER_S), *others)
    with host(len(others) + 1) as built:
        built.listen()
        unloaded = _responses(built, effort, reserved)
        built.let_send(*SENDERS)
        plain = _responses(built, effort, ())
        equal = _responses(built, effort, (vnic(WEB), *others))
        kept = _responses(built, effort, reserved)
    note = (
        f"{kept.far_ms:.2f} ms, unloaded {unloaded.far_ms:.2f}; without a reservation "
        f"{equal.far_ms:.2f}, with one queue for all {plain.far_ms:.2f}; past the uplink "
        f"{kept.near_ms:.2f}, unloaded {unloaded.near_ms:.2f}; study: <= 1.15"
    )
    cases = {
        "one queue for all": plain,
        "without a reservation": equal,
        "with a reservation": kept,
    }
    ratios = {name: one.far_ms / unloaded.far_ms for name, one in cases.items()}
    return [replace(_ASKED.row(kept.far_ms / unloaded.far_ms, note), values=ratios)]


def _responses(built: Host, effort: Effort, policy: Sequence[Allocation]) -> _Responses:
    """Under a policy; under none the link has one plain queue."""
    built.put_back()
    tc = ["tc", "qdisc", "replace", "dev", "up0", "root"]
    if policy:
        built.enforce(*policy)
    else:
        built.network.runner.run([*tc, *PLAIN_LINK.split()])
    network = built.network
    pair = [network.start(network.workload(DATABASE), _DATABASE)]
    pair.append(network.start(network.workload(WEB), _WEB))
    built.settle()
    try:
        return _Responses(
            far_ms=_mean_ms(network.sink, effort.pings),
            near_ms=_mean_ms(network.host, effort.pings),
        )
    finally:
        for process in pair:
            network.stop(process)
        if not policy:
            network.runner.run(["tc", "qdisc", "del", "dev", "up0", "root"])


def _mean_ms(namespace: str, count: int) -> float:
    """Of three rounds' means the middle one."""
    inside = NamespaceRunner(namespace)
    rounds = [
        json.loads(inside.run([sys.executable, "-c", _CLIENT, str(count)])) for _ in range(ROUNDS)
    ]
    return statistics.median(statistics.fmean(times_s) for times_s in rounds) * 1e3


WEB_PAIR = Part(name="web-pair", asked=[_ASKED], measure=_measure)
