"""Which interfaces of a host are its uplinks, and through which of them a workload's NIC sends."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ingest.core.identity.facts import Facts, Kind, Place

_FIREWALL_BRIDGE = re.compile(r"fwbr(\d+)i(\d+)")
"""Proxmox puts one between a guest's NIC and the bridge, which a pair of interfaces joins."""
_BOND_NAME = re.compile(r"(bond|team)\w*")
_ABOVE = {"bridge": "a bridge of", "vlan": "a VLAN of"}
_JOINED = frozenset({"bond", "team"})
_IDLE = frozenset({"backup", "down"})
"""States of members that carry nothing now."""
_MOST_SPEED_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Why an interface is no uplink of its own: it sends through those that it is a part `of`."""

    of: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundUplinks:
    """The uplinks of all hosts with their line rates in Mbit/s, None where it is not known.

    `parts` are interfaces whose traffic an uplink counts.
    """

    uplinks: dict[Place, int | None]
    parts: dict[Place, Part]


def find_uplinks(facts: Facts, device_pattern: re.Pattern[str]) -> FoundUplinks:
    """Interfaces by which hosts send, each bit counted once.

    A bond or team that sends samples is one uplink, and its members are parts of it; so are VLANs
    of what is below them, and bridges carry what their uplinks and guests do. By its name alone
    (`device_pattern`) counts what says nothing of how it belongs to others.

    The line rate of a bond is that of its active members together.
    """
    members: dict[Place, list[Place]] = defaultdict(list)
    for place in facts.places(Kind.NIC):
        if (master := _master(facts, place)) is not None and _is_joined(facts, master):
            members[master].append(place)
    uplinks: dict[Place, int | None] = {}
    parts: dict[Place, Part] = {}
    for place in facts.places(Kind.NIC):
        if not facts.is_seen(place):
            continue
        part = _part(facts, place)
        if part is not None:
            parts[place] = part
        elif _is_joined(facts, place) or device_pattern.fullmatch(place.subject):
            uplinks[place] = _line_rate(facts, place, members.get(place, ()))
    return FoundUplinks(uplinks=uplinks, parts=parts)


def uplink_of(facts: Facts, host: str, nic: str, uplinks: Collection[str]) -> str | None:
    """The uplink below the bridge of a NIC; None if that is not known, or several are.

    A host with one uplink has no other for its guests.
    """
    if len(uplinks) == 1:
        return next(iter(uplinks))
    bridge = _highest(facts, host, nic)
    if bridge == nic:
        return None
    held = {name for name in uplinks if _highest(facts, host, name) == bridge}
    below = sorted(held | (_below(facts, host, bridge) & set(uplinks)))
    # A bond and its members are below one bridge, and the bond carries what they do.
    masters = {facts.value(Place(host, Kind.NIC, name), "master") for name in below}
    found = [name for name in below if name in masters] or below
    return found[0] if len(found) == 1 else None


def _line_rate(facts: Facts, place: Place, members: Sequence[Place]) -> int | None:
    """What the active members have together, or else what the kernel says of the whole."""
    active = [one for one in members if facts.value(one, "state") not in _IDLE]
    speeds = [_speed(facts, one) for one in active]
    known = [speed for speed in speeds if speed is not None]
    return sum(known) if known and len(known) == len(speeds) else _speed(facts, place)


def _part(facts: Facts, place: Place) -> Part | None:
    """Why an interface is no uplink of its own; None if it may be one."""
    kind = facts.value(place, "kind")
    below = tuple(n for n in facts.values(place, "parent") if _is_there(facts, place, n))
    if kind not in _JOINED and below:
        what = _ABOVE.get(kind or "", "above")
        return Part(of=below, text=f"it is {what} {' and '.join(below)}")
    base, dot, _ = place.subject.partition(".")
    if kind is None and dot and _is_there(facts, place, base):
        return Part(of=(base,), text=f"it is a VLAN of {base}")
    master = _master(facts, place)
    if master is not None and _is_joined(facts, master) and facts.is_seen(master):
        return Part(of=(master.subject,), text=f"it is a member of {master.subject}")
    return None


def _is_there(facts: Facts, place: Place, name: str) -> bool:
    return facts.is_seen(place._replace(subject=name))


def _is_joined(facts: Facts, place: Place) -> bool:
    """Whether it is a bond or team, by what the kernel calls it, or else by its name."""
    kind = facts.value(place, "kind")
    return kind in _JOINED if kind else bool(_BOND_NAME.fullmatch(place.subject))


def _master(facts: Facts, place: Place) -> Place | None:
    name = facts.value(place, "master")
    return None if name is None else place._replace(subject=name)


def _speed(facts: Facts, place: Place) -> int | None:
    text = facts.value(place, "speed") or ""
    # Nothing is faster than a number of so many digits; a longer one fits no column.
    return int(text) or None if text.isdecimal() and len(text) <= _MOST_SPEED_DIGITS else None


def _below(facts: Facts, host: str, name: str) -> set[str]:
    """All interfaces below this one, such as the one whose VLAN is in a bridge."""
    found: set[str] = set()
    left = [name]
    while left:
        for lower in facts.values(Place(host, Kind.NIC, left.pop()), "parent"):
            if lower not in found:
                found.add(lower)
                left.append(lower)
    return found


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
