"""How the counters of a fleet grow: skewed rates, days, bursts, idle workloads, noise, queues.

Everything is computed for all workloads at once. The same seed gives the same growth, if it is
asked for in the same blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.fleet.shape import FleetShape

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

THRESHOLD_MS = 20.0
CALM_MS, CONGESTED_MS = 3.0, 80.0
CAPACITY_BITS_PER_S = 10e9
CALM_LOAD, CONGESTED_LOAD = 0.4, 0.96
FULL_RATIO = 0.9
IDLE_PART, IDLE_IOPS = 0.25, 0.02
AGGRESSOR_SHARE = 0.6
"""In congestion the first workload of each group has so much of the group's load."""
PACKET_BYTES = 1400


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """By how much counters grow in each step: arrays of steps x series x columns.

    `cgroup`, `pressure` and `vnic` have one series per workload, `disk` one per host, `uplink` and
    `tcp` one per group. Columns are those of the sample tables; the last of `disk` is no counter.
    `latency_ms` and `load` have one column per group.
    """

    cgroup: Integers
    pressure: Integers
    vnic: Integers
    disk: Integers
    uplink: Integers
    tcp: Integers
    latency_ms: Floats
    iops: Floats
    sent_bits_per_s: Floats


class Traffic:
    """The workloads of one fleet, which remember their last step."""

    def __init__(self, shape: FleetShape) -> None:
        fixed = np.random.default_rng(shape.seed)
        count = shape.workloads
        self.shape = shape
        self._random = np.random.default_rng(shape.seed + 1)
        self._iops = np.exp(fixed.normal(np.log(15), 1.0, count))
        self._bits = np.exp(fixed.normal(0.0, 1.0, count))
        self._phase = fixed.uniform(0, 2 * np.pi, count)
        self._swing = fixed.uniform(0.1, 0.8, count)
        self._idle = fixed.random(count) < IDLE_PART
        self._idle[:: shape.group] = False
        self._size = 4096 * 2 ** fixed.integers(0, 4, count)
        self._reads = fixed.uniform(0.1, 0.9, count)
        self._walk = np.zeros(count)
        self._burst = np.zeros(count)

    def grow(self, ends_s: Integers, step_s: int, congested: Flags) -> Growth:
        """The growth in the steps that end at these times (seconds since 1970)."""
        activity = self._activity(ends_s, step_s)
        latency_ms = self._latency_ms(congested)
        cgroup = self._cgroup(activity, step_s, congested)
        vnic, uplink = self._network(activity, step_s, congested)
        segments = uplink[..., 2]
        lost = self._random.binomial(segments, np.where(congested, 0.03, 1e-4)[:, None])
        return Growth(
            cgroup=cgroup,
            pressure=self._pressure(cgroup, latency_ms, step_s),
            vnic=vnic,
            disk=self._disk(cgroup, latency_ms, step_s),
            uplink=uplink,
            tcp=np.stack([segments, lost], -1),
            latency_ms=latency_ms,
            iops=self._by_group(cgroup[..., :2].sum(-1)) / step_s,
            sent_bits_per_s=uplink[..., 0] * 8 / step_s,
        )

    def _activity(self, ends_s: Integers, step_s: int) -> Floats:
        """How busy each workload is beside its own usual; about 1 in the mean."""
        random, count = self._random, self.shape.workloads
        keeps = 0.97 ** (step_s / 10)
        noise = random.standard_normal((len(ends_s), count)) * np.sqrt(1 - keeps * keeps)
        starts = random.random((len(ends_s), count)) < min(0.002 * step_s / 10, 1.0)
        fades = 0.8 ** (step_s / 10)
        found = np.empty((len(ends_s), count))
        for step in range(len(ends_s)):
            self._walk = keeps * self._walk + noise[step]
            self._burst = np.where(starts[step], 1.5, self._burst * fades)
            found[step] = 0.5 * self._walk + self._burst
        day = 1 + self._swing * np.sin(2 * np.pi * ends_s[:, None] / 86400 + self._phase)
        return day * np.exp(found)

    def _latency_ms(self, congested: Flags) -> Floats:
        usual = np.where(congested, CONGESTED_MS, CALM_MS)[:, None]
        noise = self._random.standard_normal((len(congested), self.shape.groups))
        latency_ms: Floats = usual * np.exp(0.1 * noise)
        return latency_ms

    def _cgroup(self, activity: Floats, step_s: int, congested: Flags) -> Integers:
        """Reads, writes, bytes read and bytes written of each workload."""
        random = self._random
        iops = self._iops * activity
        asleep = self._idle & (random.random(iops.shape) < 0.8)
        iops = self._with_aggressor(np.where(asleep, IDLE_IOPS, iops), congested)
        parts = np.stack([self._reads, 1 - self._reads], -1)
        ios = random.poisson(iops[..., None] * step_s * parts)
        sizes = self._size[:, None] * random.uniform(0.8, 1.2, ios.shape)
        return np.concatenate([ios, (ios * sizes).astype(np.int64) // 512 * 512], -1)

    def _with_aggressor(self, rates: Floats, congested: Flags) -> Floats:
        """In congestion the first of each group takes its part, and all others get less."""
        grouped = rates.reshape(len(rates), self.shape.groups, self.shape.group).copy()
        grouped[congested, :, 1:] *= 0.6
        others = grouped[congested, :, 1:].sum(-1)
        grouped[congested, :, 0] = others * AGGRESSOR_SHARE / (1 - AGGRESSOR_SHARE)
        return grouped.reshape(rates.shape)

    def _pressure(self, cgroup: Integers, latency_ms: Floats, step_s: int) -> Integers:
        """Microseconds in which some, and in which all tasks of each workload waited."""
        waited_us = 1000.0 * cgroup[..., :2].sum(-1) * self._of_workloads(latency_ms)
        some = np.minimum(0.3 * waited_us, 1e6 * step_s).astype(np.int64)
        return np.stack([some, some * 6 // 10], -1)

    def _disk(self, cgroup: Integers, latency_ms: Floats, step_s: int) -> Integers:
        """The columns of `diskio`: what the host's workloads do together."""
        shape = self.shape
        steps = len(cgroup)
        done = cgroup.reshape(steps, shape.hosts, shape.per_host, 4).sum(2)
        slow_ms = np.repeat(latency_ms, shape.hosts_per_group, axis=1)
        slow_ms = slow_ms * self._random.uniform(0.95, 1.05, slow_ms.shape)
        waits_ms = (done[..., :2] * slow_ms[..., None]).astype(np.int64)
        whole_ms = waits_ms.sum(-1)
        busy_ms = np.minimum(whole_ms, 1000 * step_s)
        waiting = whole_ms // (1000 * step_s)
        rest = np.stack([busy_ms, whole_ms, waiting], -1)
        return np.concatenate([done, waits_ms, rest], -1)

    def _network(
        self, activity: Floats, step_s: int, congested: Flags
    ) -> tuple[Integers, Integers]:
        """The columns of `net` without the link speed: of vNICs, and of uplinks.

        What a workload sends is what the host's side of its vNIC receives.
        """
        shape, steps = self.shape, len(activity)
        weights = self._with_aggressor(self._bits * activity, congested)
        grouped = weights.reshape(steps, shape.groups, shape.group)
        level = np.where(congested, CONGESTED_LOAD, CALM_LOAD)[:, None]
        noise = 1 + 0.01 * self._random.uniform(-1, 1, (steps, shape.groups))
        whole = level * noise * CAPACITY_BITS_PER_S * step_s / 8
        sent = (grouped / grouped.sum(-1, keepdims=True) * whole[..., None]).astype(np.int64)
        own = sent.reshape(steps, shape.workloads)
        total = sent.sum(-1) * 101 // 100
        dropped = np.where(congested[:, None], total // PACKET_BYTES // 200, 0)
        return (
            _net_columns(sent=own // 10, received=own, dropped=np.zeros_like(own)),
            _net_columns(sent=total, received=total // 5, dropped=dropped),
        )

    def _by_group(self, values: Any) -> Floats:
        grouped = values.reshape(len(values), self.shape.groups, self.shape.group).sum(-1)
        return np.asarray(grouped, dtype=np.float64)

    def _of_workloads(self, by_group: Floats) -> Floats:
        return np.repeat(by_group, self.shape.group, axis=1)


def _net_columns(*, sent: Integers, received: Integers, dropped: Integers) -> Integers:
    nothing = np.zeros_like(sent)
    packets = (sent // PACKET_BYTES, received // PACKET_BYTES)
    return np.stack([sent, received, *packets, nothing, dropped, nothing, nothing], -1)
