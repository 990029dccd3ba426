"""Network interfaces from `/proc/net/dev`, as Telegraf's input `net` names their counters."""

from dataclasses import dataclass

from enforcers.reader.host_tree import HostTree
from enforcers.reader.line import head, integers, whole

PATH = "/proc/net/dev"
CLASS = "/sys/class/net"
IFF_UP = 0x1
IFF_LOOPBACK = 0x8
_COUNTERS = 16


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface that is up; `counters` are the eight received and the eight sent."""

    name: str
    counters: tuple[int, ...]


def read_interfaces(tree: HostTree) -> dict[str, Interface]:
    """The interfaces that are up, without loopback, by name."""
    found: dict[str, Interface] = {}
    for line in tree.lines(PATH):
        # A name may hold a colon (an alias), so the last one before the counters parts them.
        name, colon, rest = line.rpartition(":")
        name = name.strip()
        if not colon or not _is_watched(tree, name):
            continue
        counters = tuple(value for word in rest.split() if (value := whole(word)) is not None)
        if len(counters) < _COUNTERS:
            tree.note(f"{PATH}: {name}", "has fields that are not understood")
            continue
        found[name] = Interface(name, counters)
    return found


def read_speed(tree: HostTree, name: str) -> int | None:
    """Line rate in Mbit/s; None where the interface does not know it."""
    return whole(tree.word(f"{CLASS}/{name}/speed") or "")


def interface_line(host: str, interface: Interface, speed: int | None) -> str:
    """The counters of an interface under the names of `net`; `speed` is in Mbit/s."""
    counters = interface.counters
    fields = {
        "bytes_recv": counters[0],
        "packets_recv": counters[1],
        "err_in": counters[2],
        "drop_in": counters[3],
        "bytes_sent": counters[8],
        "packets_sent": counters[9],
        "err_out": counters[10],
        "drop_out": counters[11],
    }
    if speed is not None:
        fields["speed"] = speed
    return f"{head('net', host, interface=interface.name)} {integers(fields)}"


def _is_watched(tree: HostTree, name: str) -> bool:
    if not name or "/" in name:
        return False
    text = tree.word(f"{CLASS}/{name}/flags")
    if text is None:
        # It went between two reads, or `/sys` is not there: its counters speak for themselves.
        return name != "lo"
    try:
        flags = int(text, 16)
    except ValueError:
        return name != "lo"
    return bool(flags & IFF_UP) and not flags & IFF_LOOPBACK
