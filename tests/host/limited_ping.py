"""A workload at its limit that pings the sink beside its own bulk traffic."""

from __future__ import annotations

import statistics
import time
from typing import TypedDict

from tests.enforcers.policies import LINK, desired, nothing, uplink, vnic
from tests.enforcers.rig import Rig
from tests.host.network import SENDER, SINK, NamespaceRunner, Network

HTB = "tc_htb"
LIMIT_BITS_PER_S = 1e6
CLASS = "51ce:10"
# What TCP may have under way fills a queue within that time.
SETTLE_S = 4.0
PINGS = 100
# Of the whole link, whatever the limit: what every class had once.
LONG_FIFO_BYTES = round(LINK / 8 * 0.05)
FRAMES = ("gso_max_segs", "1", "gso_max_size", "1500")
# Other senders leave their queue empty for seconds.
CONGESTION_CONTROL = "/proc/sys/net/ipv4/tcp_congestion_control"


class LimitedPing(TypedDict):
    """The kind of the class's queue, its median ping and rate; and the ping with a long FIFO."""

    queue: str
    ping_ms: float
    sent_bits_per_s: float
    long_fifo_ping_ms: float


def limited_ping(built: Network, rig: Rig) -> LimitedPing:
    """Of the network's first workload; the policy is over at the end."""
    # HTB sends an offload packet whole, which is half a second of this limit, and a FIFO has room
    # for two and a half of the largest packets of any vNIC.
    for interface in ("up0", *(f"p{number}" for number in built.numbers)):
        built.runner.run(["ip", "link", "set", interface, *FRAMES])
    for name in built.names:
        NamespaceRunner(name).run(["tee", CONGESTION_CONTROL], stdin="reno")
    built.start(built.sink, SINK)
    wanted = desired(uplink(), vnic(1, limit=LIMIT_BITS_PER_S), vnic(2))
    assert rig.apply(HTB, wanted).changes == ()
    sender = built.start(built.workload(1), SENDER)
    time.sleep(SETTLE_S)
    began_s, before = time.monotonic(), _sent_bits(rig)
    ping_ms = _ping_ms(built)
    sent_bits_per_s = (_sent_bits(rig) - before) / (time.monotonic() - began_s)
    queue = built.runner.run(["tc", "qdisc", "show", "dev", "up0", "parent", CLASS]).split()[1]
    long_fifo = ["bfifo", "limit", str(LONG_FIFO_BYTES)]
    built.runner.run(["tc", "qdisc", "replace", "dev", "up0", "parent", CLASS, *long_fifo])
    time.sleep(SETTLE_S)
    long_fifo_ping_ms = _ping_ms(built)
    built.stop(sender)
    rig.apply(HTB, nothing("up0"))
    return LimitedPing(
        queue=queue,
        ping_ms=ping_ms,
        sent_bits_per_s=sent_bits_per_s,
        long_fifo_ping_ms=long_fifo_ping_ms,
    )


def _ping_ms(built: Network) -> float:
    return statistics.median(built.pings_s(PINGS, namespace=built.workload(1))) * 1000


def _sent_bits(rig: Rig) -> float:
    mechanism = rig.mechanisms[HTB]
    wanted = desired(uplink(), vnic(1, limit=LIMIT_BITS_PER_S), vnic(2))
    counters = mechanism.read_back(wanted, mechanism.observe(wanted, rig.ledger.entries()))
    seen = counters["net-1"].counters
    assert seen is not None
    return seen.total
