"""What a rollout's guards look at: figures of each host, before a stage and in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from advisor.core.resource import Tier, Unit
from advisor.core.rollout_guard import ENOUGH_BEFORE, Guard, Watched
from advisor.history.history import History
from advisor.history.reader import read_history
from advisor.history.whole_windows import whole_windows
from advisor.models import PolicyRollout
from ingest.core.grid import Flags, Floats, grid_of

MOST_WINDOWS = 720
"""Two hours of windows of 10 s: what is not known after them stays unknown."""
LONGEST_BEFORE = timedelta(hours=1)
LEAST_LATENCY_RATIO = 0.1
"""Of the threshold: between shorter latencies of a device nobody tells a difference."""
LEAST_QUEUE_MS = 10.0
"""The same of a queue on an uplink."""
BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedHosts:
    """The hosts of the columns by their names, and the figures of all of them."""

    hosts: tuple[str, ...]
    figures: tuple[Watched, ...]


def watched_hosts(rollout: PolicyRollout, *, stage_s: float, now: datetime) -> WatchedHosts | None:
    """All that is known so far of the present stage; None before the first whole window."""
    resource = rollout.policy.resource
    window = timedelta(seconds=resource.window_s)
    if rollout.settled_at is None:
        return None
    until = min(whole_windows(resource, now=now), rollout.settled_at + MOST_WINDOWS * window)
    if until - rollout.settled_at < window:
        return None
    length = max(min(timedelta(seconds=stage_s), LONGEST_BEFORE), 2 * ENOUGH_BEFORE * window)
    before = read_history(
        resource, grid_of(rollout.published_at - length, rollout.published_at, resource.window_s)
    )
    since = read_history(resource, grid_of(rollout.settled_at, until, resource.window_s))
    hosts = tuple(sorted({*before.allocations.hosts, *since.allocations.hosts}))
    figures = tuple(
        Watched(guard=guard, before=then, since=since_, gap=_gap(guard, since))
        for guard, then, since_ in zip(
            Guard, _figures(before, rollout, hosts), _figures(since, rollout, hosts), strict=True
        )
    )
    return WatchedHosts(hosts=hosts, figures=figures)


def _gap(guard: Guard, history: History) -> str:
    own, name = history.allocations, history.resource.name
    if guard is Guard.LATENCY and not _is_high(history).any():
        return f"no workload of the high tier is on {name}"
    if guard is Guard.PROMISE and not (own.reservation > 0).any():
        return f"nothing is promised on {name}"
    return ""


def _figures(
    history: History, rollout: PolicyRollout, hosts: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Latency, promise kept and throughput, in the order of the guards; (windows, hosts) each."""
    return (
        _latency(history, hosts),
        _by_host(_kept(history), history.allocations.hosts, hosts, is_mean=True),
        _by_host(_useful(history, rollout), history.allocations.hosts, hosts, is_mean=False),
    )


def _is_high(history: History) -> Flags:
    """Which allocations are of the high tier, (allocations)."""
    rows = history.allocations.rows
    return np.array([row.workload.tier == Tier.HIGH for row in rows], dtype=np.bool_)


def _kept(history: History) -> Floats:
    """The part of its reservation that each has, 1 where it wants no more; NaN without one."""
    own = history.allocations
    promised = np.where(own.reservation > 0, own.reservation, np.nan)
    ratio = np.minimum(own.rate / promised, 1.0)
    ratio = np.where((ratio < 1) & np.isnan(own.backlogged), np.nan, ratio)
    return np.where((own.backlogged == 0) & ~np.isnan(ratio), 1.0, ratio)


def _useful(history: History, rollout: PolicyRollout) -> Floats:
    """The rate of each, no more than the policy is to leave it.

    To take from who has too much is what a policy is for. Of the high tier only what a person
    stated is a bound.
    """
    granted = {item["allocation"]: item for item in rollout.policy.allocations}
    high = _is_high(history)
    bounds = []
    for row, is_high in zip(history.allocations.rows, high.tolist(), strict=True):
        limit = row.limit if is_high else granted.get(row.pk, {}).get("entitlement")
        bounds.append(np.inf if limit is None else limit)
    return np.minimum(history.allocations.rate, np.array(bounds, dtype=np.float64))


def _latency(history: History, hosts: Sequence[str]) -> Floats:
    """In milliseconds, of hosts with a workload of the high tier."""
    resource, own = history.resource, history.allocations
    high = _is_high(history)
    if resource.traits.latency_gap:
        return _queueing_ms(history, high, hosts)
    with_high = {name for name, is_high in zip(own.hosts, high.tolist(), strict=True) if is_high}
    figures = history.devices.figures
    latency = np.maximum(figures.latency_ms, LEAST_LATENCY_RATIO * resource.threshold)
    of_high = np.array([name in with_high for name in history.devices.hosts], dtype=np.bool_)
    return _by_host(np.where(of_high, latency, np.nan), history.devices.hosts, hosts, is_mean=True)


def _queueing_ms(history: History, high: Flags, hosts: Sequence[str]) -> Floats:
    """How long a packet waits in the queue of its workload, by Little's law."""
    own = history.allocations
    if Unit(history.resource.unit) is not Unit.BITS_PER_S:
        return np.full((len(own.rate), len(hosts)), np.nan)
    waiting_bits = own.backlog_bytes * BITS
    waits_ms = 1000 * waiting_bits / np.maximum(own.rate, 1.0)
    waits_ms = np.where(high, np.maximum(waits_ms, LEAST_QUEUE_MS), np.nan)
    return _by_host(waits_ms, own.hosts, hosts, is_mean=True)


def _by_host(
    values: Floats, owners: Sequence[str], hosts: Sequence[str], *, is_mean: bool
) -> Floats:
    """The mean or sum over what is known of each host, NaN without anything; (windows, hosts)."""
    table = np.full((len(values), len(hosts)), np.nan)
    for place, host in enumerate(hosts):
        own = values[:, [owner == host for owner in owners]]
        known = ~np.isnan(own)
        total, count = np.where(known, own, 0.0).sum(axis=1), known.sum(axis=1)
        found = total / np.maximum(count, 1) if is_mean else total
        table[:, place] = np.where(count > 0, found, np.nan)
    return table
