"""Through which uplink of its host a workload's NIC sends."""

from __future__ import annotations

import re
from collections.abc import Collection

from ingest.core.identity.facts import Facts, Kind, Place

_FIREWALL_BRIDGE = re.compile(r"fwbr(\d+)i(\d+)")
"""Proxmox puts one between a guest's NIC and the bridge, which a pair of interfaces joins."""


def uplink_of(facts: Facts, host: str, nic: str, uplinks: Collection[str]) -> str | None:
    """The uplink below the bridge of a NIC; None if that is not known, or several are.

    A host with one uplink has no other for its guests.
    """
    if len(uplinks) == 1:
        return next(iter(uplinks))
    bridge = _highest(facts, host, nic)
    if bridge == nic:
        return None
    below = [name for name in sorted(uplinks) if _highest(facts, host, name) == bridge]
    # A bond and its members are below one bridge, and the bond carries what they do.
    masters = {facts.value(Place(host, Kind.NIC, name), "master") for name in below}
    found = [name for name in below if name in masters] or below
    return found[0] if len(found) == 1 else None


def _highest(facts: Facts, host: str, name: str) -> str:
    """The interface that no other holds, above this one."""
    visited = {name}
    while True:
        master = facts.value(Place(host, Kind.NIC, name), "master")
        if master is not None and (found := _FIREWALL_BRIDGE.fullmatch(master)):
            joined = Place(host, Kind.NIC, f"fwpr{found[1]}p{found[2]}")
            master = facts.value(joined, "master") or master
        if master is None or master in visited:
            return name
        visited.add(master)
        name = master
