"""What the kernel has on one interface, as `tc` and `ip` tell it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.tc_htb import tc_text
from enforcers.mechanisms.tc_htb.sizing import ETHERNET_HEADER_BYTES
from enforcers.mechanisms.tc_htb.tc_text import Filter, HtbClass, Qdisc
from enforcers.runner import Runner

# The major number marks the tree as ours, together with the ledger's entry.
MAJOR = "51ce"
HANDLE = f"{MAJOR}:"
ROOT_CLASS = f"{MAJOR}:1"
DEFAULT_CLASS = f"{MAJOR}:2"
ROOT_THING = "root qdisc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A network interface; `largest_bytes` is its largest packet, offload included."""

    name: str
    index: int
    frame_bytes: int
    largest_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HtbObserved:
    """One interface with its queueing disciplines; classes and filters only of our own tree."""

    device: str
    links: Mapping[str, Link]
    qdiscs: tuple[Qdisc, ...]
    classes: Mapping[str, HtbClass]
    filters: tuple[Filter, ...]
    entries: tuple[LedgerEntry, ...]

    @property
    def is_ours(self) -> bool:
        """Whether the root is the tree this agent has built and noted."""
        root = self.root
        return (
            root is not None
            and root.kind == "htb"
            and root.handle == HANDLE
            and root.option("default") in {"2", "0x2"}
            and bool(self.entries)
        )

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


def observe(runner: Runner, device: str, entries: tuple[LedgerEntry, ...]) -> HtbObserved:
    """Ask the kernel. Raises CommandError, or ValueError for an answer that makes no sense."""
    links = parse_links(runner.run(["ip", "-j", "-d", "link", "show"]))
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
            frame_bytes=frame_bytes,
            largest_bytes=max(frame_bytes, gso_bytes) if offloads else frame_bytes,
        )
    return links
