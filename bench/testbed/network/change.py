"""Policies change while everybody sends: a flow below its reservation, and the throughput."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Sequence

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.host import Host, host
from bench.testbed.network.part import ROUNDS, Effort, Part
from enforcers.contract import Allocation
from enforcers.mechanisms.tc_htb.observed import ROOT_CLASS
from tests.enforcers.policies import vnic
from tests.host.paced import PacedFlow

PACED_BITS_PER_S = 15e6
RESERVED_BITS_PER_S = 20e6
EVERY_S = 0.5
# Reservations move, shares change, limits come and go, and so does a class.
POLICIES: Sequence[Sequence[Allocation]] = (
    (vnic(1, RESERVED_BITS_PER_S), vnic(2, 30e6), vnic(3)),
    (vnic(1, RESERVED_BITS_PER_S), vnic(2, limit=30e6), vnic(3, 30e6, shares=300)),
    (vnic(1, 2 * RESERVED_BITS_PER_S, limit=60e6), vnic(2, shares=200)),
)
_LOST = Asked(
    what="change of policy under load, lost of a paced flow below its reservation",
    unit="packets",
    word="<=",
    bound=0,
)
_THROUGHPUT = Asked(
    what="change of policy under load, throughput beside that without changes",
    unit="ratio",
    word=">=",
    bound=0.98,
)


def _measure(effort: Effort) -> list[Row]:
    with host(3) as built:
        built.listen()
        built.enforce(*POLICIES[0])
        built.let_send(2, 3)
        built.settle()
        rounds = [_round(built, 2 * effort.window_s) for _ in range(ROUNDS)]
    lost, ratios, changes = zip(*rounds, strict=True)
    return [
        _LOST.row(sum(lost), f"{sum(changes)} changes in {ROUNDS} rounds"),
        _THROUGHPUT.row(statistics.median(ratios), " / ".join(f"{ratio:.3f}" for ratio in ratios)),
    ]


def _round(built: Host, window_s: float) -> tuple[int, float, int]:
    """Packets lost, throughput with changes beside that without, and how many changes."""
    # The flow ends after both windows and the first policy's return between them.
    flow = PacedFlow(
        built.network, 1, bits_per_s=PACED_BITS_PER_S, seconds=2 * window_s + 2 * EVERY_S
    )
    steady = _sent_bytes_per_s(built, window_s, ())
    policies = itertools.islice(itertools.cycle((*POLICIES[1:], POLICIES[0])), _changes(window_s))
    changing = _sent_bytes_per_s(built, window_s, tuple(policies))
    sent, arrived = flow.ended()
    built.enforce(*POLICIES[0])
    return sent - arrived, changing / steady, _changes(window_s)


def _changes(window_s: float) -> int:
    return round(window_s / EVERY_S) - 1


def _sent_bytes_per_s(
    built: Host, window_s: float, policies: Sequence[Sequence[Allocation]]
) -> float:
    """What the uplink sent in a window in which these come in force one after the other."""
    before, began_s = built.counters()[ROOT_CLASS].sent_bytes, time.monotonic()
    for number, policy in enumerate(policies, start=1):
        time.sleep(max(0.0, began_s + number * EVERY_S - time.monotonic()))
        built.enforce(*policy)
    time.sleep(max(0.0, began_s + window_s - time.monotonic()))
    sent = built.counters()[ROOT_CLASS].sent_bytes - before
    return sent / (time.monotonic() - began_s)


CHANGE = Part(name="policy-change", asked=[_LOST, _THROUGHPUT], measure=_measure)
