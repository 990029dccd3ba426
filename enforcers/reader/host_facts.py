"""What the host and its interfaces are."""

import ipaddress
import re

from enforcers.reader.device_facts import Facts
from enforcers.reader.host_tree import HostTree
from enforcers.reader.interfaces import CLASS, read_speed

MOST_ADDRESSES = 16
_LOCAL = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL")
_SIXTH = re.compile(r"[0-9a-f]{32}")
_LINK_SCOPE = "20"
_HOST_SCOPE = "10"
_LOWER = "lower_"


def host_facts(tree: HostTree) -> Facts:
    """Identity of the machine, of its present start, and the addresses it answers at."""
    facts: Facts = {}
    for name, path in (
        ("machine_id", "/etc/machine-id"),
        ("boot_id", "/proc/sys/kernel/random/boot_id"),
    ):
        if value := tree.word(path):
            facts[name] = (value,)
    if addresses := _addresses(tree):
        facts["address"] = addresses
    return facts


def nic_facts(tree: HostTree, name: str) -> Facts:
    """Line rate, driver, hardware address, and how it belongs to bonds, bridges and VLANs.

    `master` is the bond or bridge that it is part of, `parent` each interface below a bond,
    bridge or VLAN, `state` that of a member of a bond: active, backup or down.
    """
    folder = f"{CLASS}/{name}"
    speed = read_speed(tree, name)
    found = {
        "speed": None if speed is None else str(speed),
        "driver": _last(tree.link(f"{folder}/device/driver")),
        "mac": tree.word(f"{folder}/address"),
        "master": _last(tree.link(f"{folder}/master")),
        "state": _member_state(tree, f"{folder}/bonding_slave"),
    }
    facts: Facts = {key: (value,) for key, value in found.items() if value}
    lower = [one.removeprefix(_LOWER) for one in tree.names(folder) if one.startswith(_LOWER)]
    if kind := _kind(tree, folder, has_lower=bool(lower)):
        facts["kind"] = (kind,)
    if lower:
        facts["parent"] = tuple(lower)
    return facts


def _kind(tree: HostTree, folder: str, *, has_lower: bool) -> str | None:
    """What the kernel calls it: bond, bridge, vlan and so on; None of one that is nothing else."""
    for line in tree.text(f"{folder}/uevent").splitlines():
        key, _, value = line.partition("=")
        if key == "DEVTYPE" and value:
            return value
    if tree.has(f"{folder}/tun_flags"):
        return "tap"
    # Of all that lies above others a team alone has no name of its kind.
    return "team" if has_lower else None


def _member_state(tree: HostTree, folder: str) -> str | None:
    link = tree.word(f"{folder}/mii_status")
    if link is not None and link != "up":
        return "down"
    return tree.word(f"{folder}/state")


def _addresses(tree: HostTree) -> tuple[str, ...]:
    fourth = set(_LOCAL.findall(tree.text("/proc/net/fib_trie")))
    kept = sorted(one for one in fourth if not one.startswith("127."))
    for line in tree.lines("/proc/net/if_inet6"):
        words = line.split()
        is_known = len(words) == 6 and _SIXTH.fullmatch(words[0])
        if is_known and words[3] not in {_LINK_SCOPE, _HOST_SCOPE}:
            kept.append(str(ipaddress.IPv6Address(int(words[0], 16))))
    return tuple(kept[:MOST_ADDRESSES])


def _last(path: str | None) -> str | None:
    return path.rpartition("/")[2] or None if path else None
