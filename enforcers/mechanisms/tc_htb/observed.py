"""What the kernel has on one interface, as `tc` and `ip` tell it."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from enforcers.kernel_news import Group, HasNews
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import HostAccess
from enforcers.mechanisms.tc_htb import tc_text
from enforcers.mechanisms.tc_htb.found import set_by_somebody
from enforcers.mechanisms.tc_htb.host_kinds import HostKind
from enforcers.mechanisms.tc_htb.signs import CgroupPlace, Table
from enforcers.mechanisms.tc_htb.sizing import ETHERNET_HEADER_BYTES, Packets
from enforcers.mechanisms.tc_htb.tc_text import ClassCounters, Filter, HtbClass, Qdisc
from enforcers.runner import Runner

if TYPE_CHECKING:
    from enforcers.mechanisms.tc_htb.incoming import Incoming

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
LONGEST_TRUST_S = 60.0

SaidT = TypeVar("SaidT")
ReadT = TypeVar("ReadT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A network interface; `largest_bytes` is its largest packet, offload included.

    `master` is the bridge, or the like, that it is a port of. `kind` is that of a device without
    hardware, such as `bridge`.
    """

    name: str
    index: int
    address: str
    frame_bytes: int
    largest_bytes: int
    master: str | None = None
    kind: str = ""
    is_up: bool = True

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

    `noted_as` is the name in the ledger, if the interface has another one by now. `why_lost` says
    why what somebody set there could not be put back; None if it could, or nobody did. `cgroups`
    are those that are asked for and there, by path. `table` is what the BPF filter looks up, None
    if there is none, or one that nobody here knows. `leaves` are the queues by the class that they
    are below. `incoming` is what there is for what comes in, None where nothing is. What classes
    count makes no difference between two looks.
    """

    device: str
    links: Mapping[str, Link]
    qdiscs: tuple[Qdisc, ...]
    classes: Mapping[str, HtbClass]
    filters: tuple[Filter, ...]
    entries: tuple[LedgerEntry, ...]
    noted_as: str | None = None
    why_lost: str | None = None
    cgroups: Mapping[str, CgroupPlace] = field(default_factory=dict)
    table: Table | None = None
    incoming: "Incoming | None" = None
    leaves: Mapping[str, Qdisc] = field(default_factory=dict, compare=False)
    counters: Mapping[str, ClassCounters] = field(default_factory=dict, compare=False)

    @property
    def is_ours(self) -> bool:
        """Whether the root is the tree this agent has built and noted."""
        return self.root is not None and is_our_root(self.root) and bool(self.entries)

    @property
    def is_kernel_default(self) -> bool:
        """Whether all is as the kernel sets it up by itself.

        Such a state comes back when our root is deleted.
        """
        return not set_by_somebody(self.qdiscs)

    @property
    def found(self) -> str | None:
        """What was on this very interface before our tree; None if that was never noted."""
        link = self.links.get(self.device)
        own = None if link is None else str(link.index)
        return next(
            (
                entry.found
                for entry in self.entries
                if entry.identity is None or entry.identity.split()[0] == own
            ),
            None,
        )

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
        return self.leaves.get(classid)

    def without(self, classid: str) -> "HtbObserved":
        """The same with this class gone, and its queue with it."""
        return replace(
            self,
            classes={key: item for key, item in self.classes.items() if key != classid},
            leaves={key: item for key, item in self.leaves.items() if key != classid},
        )

    def below(self) -> Mapping[str, Sequence[str]]:
        """By class those below it; one without any is not in it."""
        found: dict[str, list[str]] = defaultdict(list)
        for key, item in self.classes.items():
            found[item.parent].append(key)
        return found


class Looks:
    """Looks at interfaces. What has not changed since the last time is not asked or read again.

    Where the kernel tells what changes, only that is asked for, and what classes count; once a
    minute everything all the same.
    """

    def __init__(self, host: HostAccess) -> None:
        self._runner = host.runner
        self._clock_s = host.clock_s
        self._hear = host.hear
        self._has_news_of: dict[Group, HasNews] = {}
        self._asked_all_s = -math.inf
        self._links: Mapping[str, Link] | None = None
        self._devices: dict[str, _Device] = defaultdict(_Device)

    def at(self, device: str, entries: tuple[LedgerEntry, ...]) -> HtbObserved:
        """Ask the kernel. Raises CommandError, or ValueError for an answer that makes no sense."""
        self._take_news()
        if self._links is None:
            self._links = self.all_links()
        present = _present_name(self._links, entries) or device
        bare = HtbObserved(
            device=present,
            links=self._links,
            qdiscs=(),
            classes={},
            filters=(),
            entries=entries,
            noted_as=None if present == device else device,
        )
        if present not in self._links:
            return bare
        known = self._devices[present]
        if known.qdiscs is None:
            known.qdiscs = known.read_qdiscs.of(self._run("tc", "qdisc", "show", "dev", present))
        leaves = {item.parent: item for item in known.qdiscs}
        bare = replace(bare, qdiscs=known.qdiscs, leaves=leaves)
        if bare.noted_as is not None or not bare.is_ours:
            return bare
        if known.filters is None:
            shown = self._run("tc", "filter", "show", "dev", present, "parent", HANDLE)
            known.filters = known.read_filters.of(shown)
        classes = self._run("tc", "-s", "-d", "class", "show", "dev", present)
        return replace(
            bare,
            classes=known.read_classes.of(tc_text.class_lines(classes)),
            filters=known.filters,
            counters=tc_text.parse_counters(classes),
        )

    def _take_news(self) -> None:
        """Forget what may have changed. The name of an interface is part of a filter, too."""
        if not self._has_news_of:
            self._has_news_of = {group: self._hear(group) for group in Group}
        news = {group for group, has_news in self._has_news_of.items() if has_news()}
        now_s = self._clock_s()
        if now_s - self._asked_all_s >= LONGEST_TRUST_S:
            news, self._asked_all_s = set(Group), now_s
        if Group.LINKS in news:
            self._links = None
        if news:
            self.forget_queues()

    def all_links(self) -> Mapping[str, Link]:
        """The interfaces as they are at this moment."""
        return parse_links(self._run("ip", "-j", "-d", "link", "show"))

    def forget(self) -> None:
        """Ask for everything anew: whoever changes it does not wait for news."""
        self._links = None
        self.forget_queues()

    def forget_queues(self) -> None:
        """Ask for all queues and filters anew."""
        for known in self._devices.values():
            known.qdiscs = known.filters = None

    def _run(self, *argv: str) -> str:
        return self._runner.run(argv)


class Once(Generic[SaidT, ReadT]):
    """Reads what is said, but not the same twice in a row."""

    def __init__(self, read: Callable[[SaidT], ReadT]) -> None:
        self._read = read
        self._last: tuple[SaidT, ReadT] | None = None

    def of(self, said: SaidT) -> ReadT:
        """What is read in it; of the same as the last time the very same objects."""
        if self._last is None or self._last[0] != said:
            self._last = (said, self._read(said))
        return self._last[1]


class _Device:
    """What is known of one interface; None is to be asked for."""

    def __init__(self) -> None:
        self.qdiscs: tuple[Qdisc, ...] | None = None
        self.filters: tuple[Filter, ...] | None = None
        self.read_qdiscs = Once(tc_text.parse_qdiscs)
        self.read_classes = Once(_by_classid)
        self.read_filters = Once(tc_text.parse_filters)


def _by_classid(lines: tuple[str, ...]) -> Mapping[str, HtbClass]:
    return {item.classid: item for item in tc_text.parse_classes(lines)}


def is_our_root(qdisc: Qdisc) -> bool:
    """Whether a root discipline carries the mark of this agent's trees."""
    return (
        qdisc.parent == "root"
        and qdisc.kind == "htb"
        and qdisc.handle == HANDLE
        and qdisc.option("default") in {"2", "0x2"}
    )


def find_marked(runner: Runner) -> list[str]:
    """The interfaces with a tree of this agent's, whatever the ledger says."""
    roots = tc_text.parse_qdiscs(runner.run(["tc", "qdisc", "show"]))
    names = {name for root in roots if (name := root.option("dev")) and is_our_root(root)}
    return sorted(names)


def _present_name(links: Mapping[str, Link], entries: tuple[LedgerEntry, ...]) -> str | None:
    """What the noted interface is called now, None if that cannot be told or it is gone."""
    noted = {entry.identity.split()[0] for entry in entries if entry.identity}
    names = [link.name for link in links.values() if str(link.index) in noted]
    return names[0] if names else None


def parse_links(text: str) -> dict[str, Link]:
    """Read `ip -j -d link show`. Raises ValueError."""
    # A host may have thousands, so of each is kept what is needed as soon as it was read.
    links = json.loads(text, object_hook=_link)
    return {link.name: link for link in links if link is not None}


def _link(item: dict[str, Any]) -> Link | str | None:
    """An interface; of what is told within one, what kind of device it is."""
    if "ifname" not in item:
        return item.get("info_kind")
    frame_bytes = int(item["mtu"]) + ETHERNET_HEADER_BYTES
    offloads = int(item.get("gso_max_segs", 1)) > 1
    gso_bytes = int(item.get("gso_max_size", 0)) + ETHERNET_HEADER_BYTES
    return Link(
        name=item["ifname"],
        index=int(item["ifindex"]),
        address=str(item.get("address", "")),
        frame_bytes=frame_bytes,
        largest_bytes=max(frame_bytes, gso_bytes) if offloads else frame_bytes,
        master=item.get("master"),
        kind=item.get("linkinfo") or "",
        is_up="UP" in item.get("flags", ["UP"]),
    )
