"""Pings of the host and of workloads beside traffic."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.testbed.network.part import ROUNDS
from tests.host.network import SINK_ADDRESS, Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Pings:
    """How long pings took: the middle one of three rounds' medians, and of their 99 %."""

    p50_ms: float
    p99_ms: float

    @property
    def text(self) -> str:
        """Both for a note."""
        return f"p50 {self.p50_ms:.3f} ms, p99 {self.p99_ms:.3f} ms"


def pings(network: Network, namespace: str, count: int, address: str = SINK_ADDRESS) -> Pings:
    """Three rounds of so many pings from a namespace; a lost one took 3 s."""
    rounds = [
        sorted(network.pings_s(count, namespace=namespace, address=address)) for _ in range(ROUNDS)
    ]
    return Pings(p50_ms=_middle_ms(rounds, 0.5), p99_ms=_middle_ms(rounds, 0.99))


def _middle_ms(rounds: Sequence[Sequence[float]], part: float) -> float:
    return statistics.median(times_s[int(part * len(times_s))] for times_s in rounds) * 1e3
