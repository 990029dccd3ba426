"""What the kernel has on one interface, as `tc` and `ip` tell it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.tc_htb import tc_text
from enforcers.mechanisms.tc_htb.host_kinds import HostKind
from enforcers.mechanisms.tc_htb.sizing import ETHERNET_HEADER_BYTES, Packets
from enforcers.mechanisms.tc_htb.tc_text import Filter, HtbClass, Qdisc
from enforcers.runner import Runner

# The major number marks the tree as ours, together with the ledger's entry.
MAJOR = "51ce"
HANDLE = f"{MAJOR}:"
ROOT_CLASS = f"{MAJOR}:1"
DEFAULT_CLASS = f"{MAJOR}:2"
HOST_CLASS = f"{MAJOR}:3"
KIND_CLASSES = {
    **{kind: f"{MAJOR}:{minor:x}" for minor, kind in enumerate(HostKind, start=4)},
    HostKind.OTHER: DEFAULT_CLASS,
}
ROOT_THING = "root qdisc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A network interface; `largest_bytes` is its largest packet, offload included."""

    name: str
    index: int
    address: str
    frame_bytes: int
    largest_bytes: int

    @property
    def identity(self) -> str:
        """What tells this interface whatever it is called; the address is for people."""
        return f"{self.index} {self.address}".strip()

    @property
    def packets(self) -> Packets:
        """The sizes of its packets."""
        return Packets(frame_bytes=self.frame_bytes, largest_bytes=self.largest_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class HtbObserved:
    """One interface with its queueing disciplines; classes and filters only of our own tree.

    `noted_as` is the name in the ledger, if the interface has another one by now.
    """

    device: str
    links: Mapping[str, Link]
    qdiscs: tuple[Qdisc, ...]
    classes: Mapping[str, HtbClass]
    filters: tuple[Filter, ...]
    entries: tuple[LedgerEntry, ...]
    noted_as: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the root is the tree this agent has built and noted."""
        return self.root is not None and is_our_root(self.root) and bool(self.entries)

    @property
    def is_kernel_default(self) -> bool:
        """Whether all is as the kernel sets it up by itself: it numbers its own disciplines 0.

        Only such a state comes back exactly when our root is deleted.
        """
        egress = [qdisc for qdisc in self.qdiscs if not qdisc.is_ingress]
        return all(qdisc.handle == "0:" for qdisc in egress)

    @property
    def root(self) -> Qdisc | None:
        """The root discipline."""
        return next((q for q in self.qdiscs if q.parent == "root" and not q.is_ingress), None)

    @property
    def found_text(self) -> str:
        """The egress disciplines as text, for the ledger."""
        return "\n".join(qdisc.line for qdisc in self.qdiscs if not qdisc.is_ingress)

    def leaf(self, classid: str) -> Qdisc | None:
        """The queue below a class."""
        return next((qdisc for qdisc in self.qdiscs if qdisc.parent == classid), None)

    def without(self, classid: str) -> "HtbObserved":
        """The same with this class gone, and its queue with it."""
        return replace(
            self,
            classes={key: item for key, item in self.classes.items() if key != classid},
            qdiscs=tuple(item for item in self.qdiscs if item.parent != classid),
        )

    def below(self, classid: str) -> list[HtbClass]:
        """The classes below a class."""
        return [item for item in self.classes.values() if item.parent == classid]


def observe(runner: Runner, device: str, entries: tuple[LedgerEntry, ...]) -> HtbObserved:
    """Ask the kernel. Raises CommandError, or ValueError for an answer that makes no sense."""
    links = parse_links(runner.run(["ip", "-j", "-d", "link", "show"]))
    present = _present_name(links, entries)
    if present is not None and present != device:
        return HtbObserved(
            device=present,
            links=links,
            qdiscs=tc_text.parse_qdiscs(runner.run(["tc", "qdisc", "show", "dev", present])),
            classes={},
            filters=(),
            entries=entries,
            noted_as=device,
        )
    if device not in links:
        return HtbObserved(
            device=device, links=links, qdiscs=(), classes={}, filters=(), entries=entries
        )
    qdiscs = tc_text.parse_qdiscs(runner.run(["tc", "qdisc", "show", "dev", device]))
    bare = HtbObserved(
        device=device, links=links, qdiscs=qdiscs, classes={}, filters=(), entries=entries
    )
    if not bare.is_ours:
        return bare
    classes = tc_text.parse_classes(runner.run(["tc", "-s", "-d", "class", "show", "dev", device]))
    shown = runner.run(["tc", "filter", "show", "dev", device, "parent", HANDLE])
    return HtbObserved(
        device=device,
        links=links,
        qdiscs=qdiscs,
        classes={item.classid: item for item in classes},
        filters=tc_text.parse_filters(shown),
        entries=entries,
    )


def is_our_root(qdisc: Qdisc) -> bool:
    """Whether a root discipline carries the mark of this agent's trees."""
    return (
        qdisc.parent == "root"
        and qdisc.kind == "htb"
        and qdisc.handle == HANDLE
        and qdisc.option("default") in {"2", "0x2"}
    )


def find_marked(runner: Runner) -> list[tuple[Link, Qdisc]]:
    """The interfaces with a tree of this agent's, whatever the ledger says, by name."""
    links = parse_links(runner.run(["ip", "-j", "-d", "link", "show"]))
    roots = tc_text.parse_qdiscs(runner.run(["tc", "qdisc", "show"]))
    found = {name: root for root in roots if (name := root.option("dev")) and is_our_root(root)}
    return [(links[name], found[name]) for name in sorted(found) if name in links]


def _present_name(links: Mapping[str, Link], entries: tuple[LedgerEntry, ...]) -> str | None:
    """What the noted interface is called now, None if that cannot be told or it is gone."""
    noted = {entry.identity.split()[0] for entry in entries if entry.identity}
    names = [link.name for link in links.values() if str(link.index) in noted]
    return names[0] if names else None


def parse_links(text: str) -> dict[str, Link]:
    """Read `ip -j -d link show`. Raises ValueError."""
    links = {}
    for item in json.loads(text):
        frame_bytes = int(item["mtu"]) + ETHERNET_HEADER_BYTES
        offloads = int(item.get("gso_max_segs", 1)) > 1
        gso_bytes = int(item.get("gso_max_size", 0)) + ETHERNET_HEADER_BYTES
        links[item["ifname"]] = Link(
            name=item["ifname"],
            index=int(item["ifindex"]),
            address=str(item.get("address", "")),
            frame_bytes=frame_bytes,
            largest_bytes=max(frame_bytes, gso_bytes) if offloads else frame_bytes,
        )
    return links
