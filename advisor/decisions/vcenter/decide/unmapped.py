"""Settings of datastores and datastore clusters that have no counterpart, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.decisions.vcenter.decide.proposal import LeftOut, WhyLeftOut
from ingest.core.vcenter.inventory import StorageCluster, Store, ThresholdMode

PEAK_PERCENT = 90
"""Of the peak throughput: where the threshold lies that is learnt here."""

DEFAULT_MS = 30
"""The congestion threshold of a datastore of which nobody said anything."""
_MOVES = "Sluice recommends where disks should lie, and moves none"
_SPACE = 80
_FIXED: dict[str, tuple[int, str]] = {
    "loadBalanceInterval": (480, "advice is looked for after each congestion, not at an interval"),
    "spaceLoadBalanceConfig.spaceUtilizationThreshold": (
        _SPACE, f"no move fills a datastore above {_SPACE} %, which cannot be set",
    ),
    "spaceLoadBalanceConfig.freeSpaceThresholdGB": (
        50, f"no move fills a datastore above {_SPACE} %, which cannot be set",
    ),
    "spaceLoadBalanceConfig.minSpaceUtilizationDifference": (
        5, "space alone is no reason to move",
    ),
    "ioLoadBalanceConfig.ioLatencyThreshold": (
        15, "a datastore needs help above its own congestion threshold",
    ),
    "ioLoadBalanceConfig.ioLoadImbalanceThreshold": (
        5, "loads count as uneven from 5 % on, which cannot be set",
    ),
    "ioLoadBalanceConfig.reservableIopsThreshold": (
        0, "what can be reserved is a part of the capacity: sluice resource set --capacity",
    ),
}  # fmt: skip
"""By setting the default of vSphere, of which nothing is said, and what there is instead."""


def store_left_out(store: Store) -> Iterator[LeftOut]:
    """What of Storage I/O Control of a datastore is not taken."""
    found = store.congestion
    if found is None:
        return
    automatic = found.mode is ThresholdMode.AUTOMATIC
    percent = found.percent_of_peak
    if not found.enabled:
        if found.mode is ThresholdMode.MANUAL and found.threshold_ms not in (None, DEFAULT_MS):
            stated = f"Storage I/O Control off, threshold {found.threshold_ms} ms"
            yield _left(store.name, stated, "a threshold that is switched off says nothing")
        if found.collects_statistics:
            yield _left(
                store.name, "statistics without control", "what is sent is always judged here"
            )
    elif automatic and percent not in (None, PEAK_PERCENT):
        yield _left(
            store.name,
            f"threshold at {percent} % of peak throughput",
            f"it is learnt at {PEAK_PERCENT} %, which cannot be set",
        )
    if found.reserves:
        yield _left(
            store.name,
            "reservations enforced by the hosts",
            "what is reserved is checked against the capacity when it is stated",
        )


def cluster_left_out(cluster: StorageCluster) -> Iterator[LeftOut]:
    """What of the settings of a datastore cluster is not taken."""
    settings = cluster.settings
    if settings.get("enabled") and settings.get("defaultVmBehavior") == "automated":
        yield _left(cluster.name, "fully automated", _MOVES)
    if settings.get("enabled") and settings.get("ioLoadBalanceEnabled") is False:
        yield _left(
            cluster.name, "moves for load off", "advice on placement cannot be switched off"
        )
    for name, (default, why) in _FIXED.items():
        value = settings.get(name)
        if value is not None and value != default:
            yield _left(cluster.name, f"{name.rpartition('.')[2]} {value}", why)
    if settings.get("enabled") and cluster.keeps_together:
        yield _left(
            cluster.name,
            "disks of each VM together by default",
            "disks are placed one by one; write a rule keep-together: for those that must not be",
        )


def _left(what: str, stated: str, why: str) -> LeftOut:
    return LeftOut(what=what, stated=stated, kind=WhyLeftOut.NO_COUNTERPART, why=why)
