"""Hosts that hold rates on a shared datastore, as a fluid, in steps of a fiftieth of a second.

The datastore serves first come, first served; a host lets through its budget, divided by shares
among workloads that have room to send, and decides on it with the agent's own law. Hosts tell
their figures each four seconds, each at a time of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim, entitlements
from enforcers.exchange import KEPT_PERIODS, PERIOD_S, DatastoreLoad, HostPart, pooled
from enforcers.following import PERIOD_S as FOLLOWED_S
from enforcers.joint_capacity import drained_ratio
from enforcers.joint_loop import JointState, RateDemand, RatePeriod, after_period, part_of

STEP_S = 0.02
WAITS_RATIO = 0.05


@dataclass
class Workload:
    """It keeps up to `outstanding` at the datastore, and sends at most `most_iops`.

    What is done in a step (`again`) is sent again in the next.
    """

    shares: float
    outstanding: float
    most_iops: float = math.inf
    reserved: float = 0.0
    queue: float = 0.0
    again: float = 0.0
    total: float = 0.0
    done: float = 0.0
    waited_s: float = 0.0


@dataclass
class RateHost:
    """A host with the agent's loop; `stated` is the capacity of the policy."""

    name: str
    workloads: list[Workload]
    stated: float = 2000.0
    phase_s: float = 0.0
    is_alive: bool = True
    is_cut_off: bool = False
    state: JointState = field(default_factory=JointState)
    ratio: float = 1.0
    served: float = 0.0
    waited: float = 0.0
    _followed: tuple[float, float] = (0.0, 0.0)
    _told: tuple[float, float] = (0.0, 0.0)

    @property
    def budget(self) -> float:
        return (self.stated if self.state.budget_iops is None else self.state.budget_iops) * (
            self.ratio if self.state.budget_iops is not None else 1.0
        )

    def send(self) -> float:
        """Let through what the budget allows; the I/Os that went to the datastore."""
        room = [
            max(0.0, min(each.outstanding - each.queue + each.again, each.most_iops * STEP_S))
            for each in self.workloads
        ]
        claims = [
            Claim(reservation=each.reserved * STEP_S, shares=each.shares, demand=wanted)
            for each, wanted in zip(self.workloads, room, strict=True)
        ]
        given = entitlements(self.budget * STEP_S, claims, ReservationMode.FLOOR)
        for each, wanted, got in zip(self.workloads, room, given, strict=True):
            each.queue += got
            each.waited_s += STEP_S if wanted > got * (1 + 1e-6) else 0.0
        return math.fsum(given)

    def serve(self, before: list[float], part: float, *, unloaded_s: float) -> None:
        """A step in which the datastore does this part of what is there."""
        for each, had in zip(self.workloads, before, strict=True):
            done = each.again = each.queue * part
            each.queue -= done
            each.total += done
            each.done += done
            self.served += done
            self.waited += max((had + each.queue) / 2 * STEP_S, done * unloaded_s)

    def follow(self) -> None:
        """Each half second: drain what has piled up."""
        latency_ms, _, _ = self._since(self._followed)
        self._followed = (self.served, self.waited)
        threshold_ms = self.state.threshold_ms
        if threshold_ms is not None:
            self.ratio = drained_ratio(latency_ms, threshold_ms=threshold_ms, period_s=FOLLOWED_S)

    def count(self) -> RatePeriod:
        latency_ms, done, waited = self._since(self._told)
        self._told = (self.served, self.waited)
        is_late = (
            latency_ms is not None
            and self.state.threshold_ms is not None
            and latency_ms > self.state.threshold_ms
        )
        demands = tuple(
            RateDemand(
                shares=each.shares,
                asked=math.inf
                if each.waited_s > WAITS_RATIO * PERIOD_S or (is_late and each.done > 0)
                else each.done / PERIOD_S,
                reserved=each.reserved,
            )
            for each in self.workloads
        )
        for each in self.workloads:
            each.done = each.waited_s = 0.0
        return RatePeriod(
            ios=round(done),
            done_iops=done / PERIOD_S,
            mean_device_latency_ms=latency_ms if round(done) else None,
            outstanding_io=waited / PERIOD_S,
            shares=math.fsum(each.shares for each in self.workloads),
            reserved_iops=math.fsum(each.reserved for each in self.workloads),
            demands=demands,
        )

    def _since(self, before: tuple[float, float]) -> tuple[float | None, float, float]:
        done, waited = self.served - before[0], self.waited - before[1]
        return (1000 * waited / done if done > 1e-9 else None), done, waited


@dataclass
class SharedDatastore:
    """All hosts, the service that they speak with, and what has been seen of it."""

    hosts: list[RateHost]
    capacity_iops: float = 2000.0
    unloaded_ms: float = 1.0
    threshold_ms: float = 20.0
    is_service_away: bool = False
    now_s: float = 0.0
    heard: dict[str, tuple[float, HostPart]] = field(default_factory=dict)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    served: list[tuple[float, float]] = field(default_factory=list)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self._step()

    def rates(self, over_s: float) -> dict[str, list[float]]:
        """What each workload gets a second, over so long from now on."""
        before = {host.name: [each.total for each in host.workloads] for host in self.hosts}
        self.run(over_s)
        return {
            host.name: [
                (each.total - had) / over_s
                for each, had in zip(host.workloads, before[host.name], strict=True)
            ]
            for host in self.hosts
        }

    def latency_since(self, at_s: float) -> list[float]:
        """Means over half seconds, in ms."""
        return [ms for at, ms in self.latencies if at >= at_s]

    def throughput_since(self, at_s: float) -> float:
        done = [ios for at, ios in self.served if at >= at_s]
        return math.fsum(done) / (len(done) * STEP_S)

    def _step(self) -> None:
        self.now_s += STEP_S
        before = [[each.queue for each in host.workloads] for host in self.hosts]
        for host in self.hosts:
            host.send()
        everything = math.fsum(each.queue for host in self.hosts for each in host.workloads)
        most = min(self.capacity_iops, 1000 * everything / self.unloaded_ms) * STEP_S
        part = min(1.0, most / everything) if everything > 0 else 0.0
        for host, queues in zip(self.hosts, before, strict=True):
            host.serve(queues, part, unloaded_s=self.unloaded_ms / 1000)
        self.served.append((self.now_s, everything * part))
        if self._is_time(FOLLOWED_S, 0.0):
            queued = math.fsum(each.queue for host in self.hosts for each in host.workloads)
            self.latencies.append((self.now_s, 1000 * queued / self.capacity_iops))
        for host in self.hosts:
            if host.is_alive and self._is_time(FOLLOWED_S, 0.0):
                host.follow()
            if host.is_alive and self._is_time(PERIOD_S, host.phase_s):
                self._exchange(host)

    def _exchange(self, host: RateHost) -> None:
        period = host.count()
        answer = None
        if not self.is_service_away and not host.is_cut_off:
            self.heard[host.name] = (self.now_s, part_of(host.state, period))
            answer = self._answer()
        host.state = after_period(host.state, period, answer, stated_iops=host.stated)

    def _answer(self) -> DatastoreLoad:
        kept_s = KEPT_PERIODS * PERIOD_S
        fresh = [part for at, part in self.heard.values() if self.now_s - at < kept_s]
        return replace(pooled(fresh), threshold_ms=self.threshold_ms, is_shared=True)

    def _is_time(self, period_s: float, phase_s: float) -> bool:
        turn = round((self.now_s - phase_s) / STEP_S)
        return turn > 0 and turn % round(period_s / STEP_S) == 0
