"""Hosts that are one machine, although collectors name it differently."""

from __future__ import annotations

from ingest.core.identity.facts import Facts, Kind, Place


def machines_of(facts: Facts) -> dict[str, str]:
    """The machine of each host: the first name of those that have one boot id.

    A kernel draws its boot id at random when it starts, so two that are equal are one kernel: two
    collectors that name it differently, or a container that sees the devices of its host.
    """
    first: dict[str, str] = {}
    machines: dict[str, str] = {}
    for host in facts.hosts():
        boot_id = facts.value(Place(host, Kind.HOST, ""), "boot_id")
        machines[host] = host if boot_id is None else first.setdefault(boot_id, host)
    return machines
