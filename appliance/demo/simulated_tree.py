"""Traffic control of one simulated interface: what `tc` changes and shows.

Only the words that the agent's HTB mechanism uses are known; anything else is refused, as a
kernel without the option would.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from appliance.demo.fluid_uplink import SenderClass

FRAME_BYTES = 1514
DEFAULT_BURST = "1600b"
DEFAULT_QDISC = "qdisc noqueue 0: root"
UNITS = (("G", 10**9), ("M", 10**6), ("K", 10**3))


class Refused(Exception):
    """The simulated kernel does not do this."""


@dataclass(slots=True, kw_only=True)
class Leaf:
    """An HTB class with what it counted."""

    parent: str
    options: dict[str, str]
    queue_bytes: int | None = None
    sent_bytes: float = 0.0
    dropped: int = 0
    overlimits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFilter:
    """A u32 filter on packet headers, with its keys as they are shown."""

    place: tuple[str, str]
    handle: str
    classid: str
    shown: str


@dataclass(slots=True)
class SimulatedTree:
    """The root discipline of one interface, its classes and its filters."""

    handle: str | None = None
    default: str = ""
    classes: dict[str, Leaf] = field(default_factory=dict)
    flows: dict[str, str] = field(default_factory=dict)
    """The class for packets that came in by an interface."""
    headers: list[HeaderFilter] = field(default_factory=list)
    """Filters on headers; nobody here sends what they tell."""

    def change(self, words: Sequence[str]) -> None:
        """Do `tc OBJECT VERB dev DEVICE ...`. Raises Refused."""
        if tuple(words[:2]) == ("filter", "add") and "indev" not in words:
            self._add_header_filter(words)
            return
        changes: dict[tuple[str, str], Callable[[dict[str, str]], None]] = {
            ("qdisc", "add"): self._add_root,
            ("qdisc", "replace"): self._set_queue,
            ("qdisc", "del"): self._delete_root,
            ("class", "add"): self._set_class,
            ("class", "change"): self._set_class,
            ("class", "del"): self._delete_class,
            ("filter", "add"): self._add_filter,
            ("filter", "del"): self._delete_filter,
        }
        change = changes.get((words[0], words[1]))
        if change is None:
            raise Refused(f"tc {' '.join(words)}: not simulated")
        try:
            change(_pairs(words[2:]))
        except (KeyError, ValueError) as error:
            raise Refused(f"tc {' '.join(words)}: not simulated ({error})") from error

    def show(self, kind: str) -> str:
        """Print what `tc -s -d KIND show` prints."""
        if kind == "qdisc":
            return self._show_qdiscs()
        if kind == "class":
            return "".join(_show_class(name, leaf) for name, leaf in self.classes.items())
        return self._show_filters()

    def class_of(self, interface: str) -> str:
        """Name the class that packets from this interface go to."""
        return self.flows.get(interface, self.default)

    def sender_class(self, classid: str) -> SenderClass:
        """What the scheduler knows of a class."""
        options = self.classes[classid].options
        return SenderClass(
            rate_bits_per_s=_bits(options["rate"]),
            ceil_bits_per_s=_bits(options["ceil"]),
            quantum_bytes=int(options["quantum"]),
        )

    def _add_root(self, words: dict[str, str]) -> None:
        if self.handle is not None:
            raise Refused("RTNETLINK answers: File exists")
        self.handle = words["handle"]
        self.default = self.handle + words["default"]

    def _delete_root(self, _: dict[str, str]) -> None:
        if self.handle is None:
            raise Refused("Error: Cannot delete qdisc with handle of zero.")
        self.handle, self.default = None, ""
        self.classes.clear()
        self.flows.clear()
        self.headers.clear()

    def _set_queue(self, words: dict[str, str]) -> None:
        if "bfifo" not in words:
            raise Refused("Error: Specified qdisc kind is unknown.")
        self._class(words["parent"]).queue_bytes = int(words["limit"])

    def _set_class(self, words: dict[str, str]) -> None:
        # As tc does: without a ceiling a class may send at its rate, never more.
        options = {
            "rate": words["rate"],
            "ceil": words.get("ceil", words["rate"]),
            "quantum": words["quantum"],
            "burst": words.get("burst", DEFAULT_BURST),
            "cburst": words.get("cburst", DEFAULT_BURST),
        }
        known = self.classes.setdefault(
            words["classid"], Leaf(parent=words["parent"], options=options)
        )
        known.options = options

    def _delete_class(self, words: dict[str, str]) -> None:
        self._class(words["classid"])
        del self.classes[words["classid"]]

    def _add_filter(self, words: dict[str, str]) -> None:
        self._class(words["classid"])
        self.flows[words["indev"]] = words["classid"]

    def _add_header_filter(self, words: Sequence[str]) -> None:
        options = _pairs(words)
        self._class(options["classid"])
        self.headers.append(
            HeaderFilter(
                place=(options["protocol"], options["pref"]),
                handle=f"801::{0x800 + len(self.headers):x}",
                classid=options["classid"],
                shown=_shown_keys(words),
            )
        )

    def _delete_filter(self, words: dict[str, str]) -> None:
        place = (words["protocol"], words["pref"])
        gone = [
            item
            for item in self.headers
            if item.place == place and words.get("handle") in (None, item.handle)
        ]
        if gone:
            self.headers = [item for item in self.headers if item not in gone]
            return
        # Without a handle the whole preference goes, and all filters have the same one.
        found = [
            name for name in self.flows if words.get("handle") in (None, self._filter_handle(name))
        ]
        if not found:
            raise Refused("Error: Filter not found.")
        for name in found:
            del self.flows[name]

    def _class(self, classid: str) -> Leaf:
        if classid not in self.classes:
            raise Refused("Error: Specified class not found.")
        return self.classes[classid]

    def _show_qdiscs(self) -> str:
        if self.handle is None:
            return DEFAULT_QDISC + "\n"
        minor = self.default.partition(":")[2]
        root = f"qdisc htb {self.handle} root refcnt 2 r2q 10 default 0x{minor}"
        queues = [
            f"qdisc bfifo {0x8000 + number:x}: parent {classid} limit {leaf.queue_bytes}b"
            for number, (classid, leaf) in enumerate(self.classes.items(), start=1)
            if leaf.queue_bytes is not None
        ]
        return "\n".join([root, *queues]) + "\n"

    def _show_filters(self) -> str:
        shown = [
            f"filter parent {self.handle} protocol all pref 10 u32 chain 0 "
            f"fh {self._filter_handle(interface)} order 2048 key ht 800 bkt 0 "
            f"*flowid {classid} not_in_hw \n"
            f"  match 00000000/00000000 at 0\n  input dev {interface}\n\n"
            for interface, classid in self.flows.items()
        ]
        shown += [
            f"filter parent {self.handle} protocol {item.place[0]} pref {item.place[1]} u32 "
            f"chain 0 fh {item.handle} order 2048 key ht 801 bkt 0 *flowid {item.classid} "
            f"not_in_hw \n{item.shown}\n"
            for item in self.headers
        ]
        return "".join(shown)

    def _filter_handle(self, interface: str) -> str:
        return f"800::{0x800 + sorted(self.flows).index(interface):x}"


def _show_class(name: str, leaf: Leaf) -> str:
    options = leaf.options
    is_inner = leaf.queue_bytes is None
    place = f"parent {leaf.parent}" if is_inner else f"parent {leaf.parent} leaf 8001: prio 0"
    if leaf.parent.endswith(":"):
        place = "root"
    quantum = "" if is_inner else f" quantum {options['quantum']}"
    bursts = " ".join(f"{kind} {options[kind]}b/1 mpu 0b" for kind in ("burst", "cburst"))
    packets = int(leaf.sent_bytes) // FRAME_BYTES
    # A queue in front of a sender that always wants more is always full.
    waiting = leaf.queue_bytes if leaf.queue_bytes and leaf.sent_bytes else 0
    return (
        f"class htb {name} {place}{quantum} rate {_rate(options['rate'])} "
        f"ceil {_rate(options['ceil'])} linklayer ethernet {bursts} level 0 \n"
        f" Sent {int(leaf.sent_bytes)} bytes {packets} pkt "
        f"(dropped {leaf.dropped}, overlimits {leaf.overlimits} requeues 0) \n"
        f" backlog {waiting}b {waiting // FRAME_BYTES}p requeues 0\n\n"
    )


def _shown_keys(words: Sequence[str]) -> str:
    keys = [words[at + 2 : at + 6] for at, word in enumerate(words) if word == "match"]
    return "".join(
        f"  match {int(value, 16):08x}/{int(mask, 16):08x} at {offset}\n"
        for value, mask, _, offset in keys
    )


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Give every word the word after it: tc's options are pairs, but for a few words."""
    return dict(pairwise(words))


def _bits(text: str) -> float:
    return float(text.removesuffix("bit"))


def _rate(text: str) -> str:
    value = int(_bits(text))
    for letter, factor in UNITS:
        if value % factor == 0 and value:
            return f"{value // factor}{letter}bit"
    return f"{value}bit"
