"""A kernel's traffic control in memory, behind a Runner: what `tc`, `ip` and `unshare` do."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from enforcers.errors import CommandError
from enforcers.mechanisms.tc_htb.program import LOADER, LOADER_NAME

NOQUEUE = "qdisc noqueue 0: root refcnt 2"


class Killed(BaseException):
    """The agent's process ends here, without a chance to clean up."""


@dataclass(slots=True, kw_only=True)
class FakeClass:
    """An HTB class; `sent_bytes` and `backlog_bytes` are for tests to set."""

    parent: str
    options: dict[str, str]
    sent_bytes: int = 0
    drops: int = 0
    overlimits: int = 0
    backlog_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class FakeLeaf:
    """A queue below a class, with options as tc is told them."""

    kind: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class FakeDevice:
    """One interface with its queueing disciplines as text, and an HTB tree if there is one."""

    default: list[str] = field(default_factory=lambda: [NOQUEUE])
    other: list[str] = field(default_factory=list)
    foreign: list[str] | None = None
    htb: tuple[str, str] | None = None
    classes: dict[str, FakeClass] = field(default_factory=dict)
    leaves: dict[str, FakeLeaf] = field(default_factory=dict)
    filters: dict[str, dict[str, str]] = field(default_factory=dict)
    program: tuple[str, tuple[str, ...]] | None = None
    index: int = 7
    address: str = "02:00:00:00:00:07"
    mtu: int = 1500
    gso_max_segs: int = 65535


class FakeTc:
    """Answers like iproute2 6.1. `refuse` makes commands with these words fail, `kill` die."""

    def __init__(self, *names: str) -> None:
        self.devices = {name: FakeDevice(index=index) for index, name in enumerate(names, start=7)}
        self.commands: list[str] = []
        self.refuse: str | None = None
        self.kill: str | None = None
        self.deaf_to: str | None = None
        self.is_installed = True
        self.has_fq_codel = True
        self.has_ifb = True
        self.has_libbpf = False
        self._next_filter = 0x800

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        if argv[0] == "tc" and list(argv[-2:]) == ["-batch", "-"]:
            said = self._run_batch(argv, stdin)
            return json.dumps([_as_json(line) for line in said]) if "-j" in argv else "".join(said)
        if argv == LOADER:
            return self._load(argv, stdin)
        return self.run_one(argv, stdin)

    def _run_batch(self, argv: Sequence[str], stdin: str) -> list[str]:
        """Each line a command, up to the first that fails, as iproute2 does."""
        said = ""
        for number, line in enumerate(stdin.splitlines(), start=1):
            try:
                said += self.run_one(["tc", *line.split()])
            except CommandError as error:
                raise CommandError(argv, f"{error.answer} Command failed -:{number}") from error
        return said.splitlines(keepends=True)

    def _load(self, argv: Sequence[str], stdin: str) -> str:
        """What load_classifier.py does: a filter of an interface's number, exchanged at once."""
        if not self.has_libbpf:
            raise CommandError(argv, "there is no libbpf.so.1 Command failed -:1")
        for number, line in enumerate(stdin.splitlines(), start=1):
            if line == "try":
                continue
            self.commands.append(f"{LOADER_NAME} {line}")
            if self.kill is not None and self.kill in self.commands[-1]:
                raise Killed
            if self.refuse is not None and self.refuse in self.commands[-1]:
                raise CommandError(argv, f"bpf() refused the program Command failed -:{number}")
            verb, _, index, _, handle, _, pref, _, name, *entries = line.split()
            (device,) = [one for one in self.devices.values() if str(one.index) == index]
            assert (verb, handle, pref) == ("replace", (device.htb or ("",))[0], "5")
            device.program = (name, tuple(entries))
        return ""

    def run_one(self, argv: Sequence[str], stdin: str = "") -> str:
        """One command, also a line of a batch."""
        command = " ".join(argv)
        if not self.is_installed:
            raise CommandError(argv, "No such file or directory")
        if self.kill is not None and self.kill in command:
            raise Killed
        if self.refuse is not None and self.refuse in command:
            raise CommandError(argv, "RTNETLINK answers: Invalid argument")
        if argv[0] == "unshare" or argv[1] == "-V":
            return self._try_out(argv, stdin)
        if argv[0] == "ip":
            return self._links()
        return self._control(argv, [word for word in argv[1:] if word not in {"-s", "-d"}])

    def _control(self, argv: Sequence[str], words: list[str]) -> str:
        if words == ["qdisc", "show"]:
            return self._show_all_qdiscs()
        kind, verb, _, name, *rest = words
        if name not in self.devices:
            raise CommandError(argv, f'Cannot find device "{name}"')
        if verb == "show":
            shown: str = getattr(self, f"_show_{kind}")(self.devices[name])
            return shown
        self.commands.append(" ".join(argv))
        if self.deaf_to is not None and self.deaf_to in self.commands[-1]:
            return ""
        try:
            getattr(self, f"_{verb}_{kind}")(self.devices[name], rest)
        except (KeyError, ValueError) as error:
            raise CommandError(argv, f"RTNETLINK answers: {error}") from error
        return ""

    def _try_out(self, argv: Sequence[str], stdin: str) -> str:
        if "fq_codel" in stdin and not self.has_fq_codel:
            raise CommandError(argv, "Error: Specified qdisc kind is unknown.")
        if "ifb" in argv[-1]:
            if not self.has_ifb:
                raise CommandError(argv, "Error: Unknown device type.")
        elif "sh" in argv:
            name, command = argv[argv.index("sh") + 4], list(argv[argv.index("tc") :])
            return FakeTc(name).run(command, stdin=stdin)
        return ""

    def text(self, name: str) -> str:
        """Everything tc shows of an interface."""
        device = self.devices[name]
        return "".join(
            [self._show_qdisc(device), self._show_class(device), self._show_filter(device)]
        )

    def _links(self) -> str:
        return json.dumps(
            [
                {
                    "ifname": name,
                    "ifindex": device.index,
                    "address": device.address,
                    "mtu": device.mtu,
                    "gso_max_size": 65536,
                    "gso_max_segs": device.gso_max_segs,
                }
                for name, device in self.devices.items()
            ]
        )

    def _show_all_qdiscs(self) -> str:
        """With the name of its interface after each handle."""
        lines = [
            (name, line.split())
            for name, device in self.devices.items()
            for line in self._show_qdisc(device).splitlines()
        ]
        return "".join(
            " ".join([*words[:3], "dev", name, *words[3:]]) + "\n" for name, words in lines
        )

    def _show_qdisc(self, device: FakeDevice) -> str:
        if device.htb is None:
            lines = device.foreign or device.default
        else:
            handle, default = device.htb
            root = f"qdisc htb {handle} root refcnt 3 r2q 10 default 0x{default}"
            leaves = [
                _leaf_text(f"80{index:02x}:", classid, leaf)
                for index, (classid, leaf) in enumerate(device.leaves.items())
            ]
            lines = [root, *leaves]
        return "\n".join([*lines, *device.other]) + "\n"

    def _show_class(self, device: FakeDevice) -> str:
        parents = {item.parent for item in device.classes.values()}
        return "".join(
            _class_text(name, item, is_leaf=name not in parents)
            for name, item in device.classes.items()
        )

    def _show_filter(self, device: FakeDevice) -> str:
        head = "filter protocol all pref 5 bpf chain 0 "
        shown = ""
        if device.program is not None:
            rest = "not_in_hw id 119 name classify tag b2c6f0f0c9655d51 jited "
            shown = f"{head}\n{head}handle 0x1 {device.program[0]} {rest}\n"
        return shown + "".join(self._filter_text(fh, item) for fh, item in device.filters.items())

    def _filter_text(self, handle: str, item: dict[str, str]) -> str:
        head = f"filter protocol {item['protocol']} pref {item['pref']} u32 chain 0"
        indev = item.get("indev")
        # A filter on an interface that is gone stays, without its name.
        shown = f"  input dev {indev}\n" if indev in self.devices else ""
        return (
            f"{head} \n{head} fh 800: ht divisor 1 \n"
            f"{head} fh {handle} order 2048 key ht 800 bkt 0 *flowid {item['classid']} not_in_hw"
            f" \n{item['shown']}{shown}\n"
        )

    def _add_qdisc(self, device: FakeDevice, words: list[str]) -> None:
        if words[0] == "root" and (device.htb is not None or device.foreign is not None):
            raise ValueError("File exists")
        if "htb" not in words:
            # Below the root the kernel shows the newest first.
            root, *others = [*(device.foreign or []), _qdisc_text(words)]
            device.foreign = [root, *others[-1:], *others[:-1]]
            return
        options = _pairs(words)
        device.htb = (options["handle"], options["default"])

    def _del_qdisc(self, device: FakeDevice, words: list[str]) -> None:
        assert words == ["root"]
        device.htb = device.foreign = None
        device.classes.clear()
        device.leaves.clear()
        device.filters.clear()
        device.program = None

    def _replace_qdisc(self, device: FakeDevice, words: list[str]) -> None:
        if words[0] == "root":
            device.foreign = None
            self._add_qdisc(device, words)
            return
        _, classid, kind, *options = words
        if classid not in device.classes:
            raise ValueError("No such file or directory")
        if kind == "fq_codel" and not self.has_fq_codel:
            raise ValueError("Specified qdisc kind is unknown.")
        present = device.leaves.get(classid)
        if present is None or present.kind != kind:
            present = device.leaves[classid] = FakeLeaf(kind=kind)
        elif "flows" in options:
            raise ValueError("Invalid argument")
        present.options |= dict(zip(options[::2], options[1::2], strict=True))

    def _add_class(self, device: FakeDevice, words: list[str]) -> None:
        options = _pairs(words)
        root = device.htb[0] if device.htb else ""
        has_parent = options["parent"] == root or options["parent"] in device.classes
        if options["classid"] in device.classes or not has_parent:
            raise ValueError("File exists")
        device.classes[options["classid"]] = FakeClass(parent=options["parent"], options=options)

    def _change_class(self, device: FakeDevice, words: list[str]) -> None:
        options = _pairs(words)
        device.classes[options["classid"]].options = options

    def _del_class(self, device: FakeDevice, words: list[str]) -> None:
        classid = _pairs(words)["classid"]
        users = [item["classid"] for item in device.filters.values()]
        if classid in [*users, *(item.parent for item in device.classes.values())]:
            raise ValueError("HTB class in use.")
        del device.classes[classid]
        device.leaves.pop(classid, None)

    def _add_filter(self, device: FakeDevice, words: list[str]) -> None:
        options = _pairs(words)
        if options.get("indev", "up0") not in self.devices:
            raise ValueError("Network device not found.")
        options["shown"] = _shown_matches(words)
        device.filters[f"800::{self._next_filter:x}"] = options
        self._next_filter += 1

    def _del_filter(self, device: FakeDevice, words: list[str]) -> None:
        options = _pairs(words)
        if options["pref"] == "5":
            device.program = None
            return
        if "handle" in options:
            del device.filters[options["handle"]]
            return
        place = (options["protocol"], options["pref"])
        gone = [
            handle
            for handle, item in device.filters.items()
            if (item["protocol"], item["pref"]) == place
        ]
        if not gone:
            raise ValueError("No such file or directory")
        for handle in gone:
            del device.filters[handle]


def _qdisc_text(words: list[str]) -> str:
    """What tc prints of a discipline that it was told, with options whose values are numbers."""
    place = "root refcnt 2" if words[0] == "root" else f"parent {words[1]}"
    _, handle, kind, *options = words[words.index("handle") :]
    unit = {"pfifo": "p", "fq": "p", "bfifo": "b"}.get(kind, "")
    if any(not value.isdigit() for value in options[1::2]) or (options and not unit):
        raise ValueError(f"What is {options[0]!r}?")
    shown = [
        f"{name} {value}{unit}" for name, value in zip(options[::2], options[1::2], strict=True)
    ]
    return " ".join(["qdisc", kind, handle, place, *shown])


def _as_json(line: str) -> dict[str, str]:
    return {"kind": line.split()[1], "line": line}


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(itertools.pairwise(words))


def _shown_matches(words: list[str]) -> str:
    """As iproute2 prints u32 keys; one without a place is at the beginning."""
    lines = []
    for index, word in enumerate(words):
        if word == "match":
            value, mask, at, place = words[index + 2 : index + 6]
            offset = place if at == "at" else "0"
            lines.append(f"  match {int(value, 0):08x}/{int(mask, 0):08x} at {offset}\n")
    return "".join(lines)


def _leaf_text(handle: str, classid: str, leaf: FakeLeaf) -> str:
    shown = dict(leaf.options)
    if shown["limit"].isdigit():
        shown["limit"] += "p" if leaf.kind == "fq_codel" else "b"
    words = " ".join(f"{name} {value}" for name, value in shown.items())
    rest = " memory_limit 32Mb ecn drop_batch 64" if leaf.kind == "fq_codel" else ""
    return f"qdisc {leaf.kind} {handle} parent {classid} {words}{rest}"


def _class_text(name: str, item: FakeClass, *, is_leaf: bool) -> str:
    options = item.options
    rate, ceil = (shown_rate(int(options[key].removesuffix("bit"))) for key in ("rate", "ceil"))
    if name.endswith(":1"):
        place = "root"
    elif not is_leaf:
        place = f"parent {item.parent}"
    else:
        place = f"parent {item.parent} leaf 8001: prio 0 quantum {options['quantum']}"
    return (
        f"class htb {name} {place} rate {rate} ceil {ceil} linklayer ethernet "
        f"burst {options['burst']}b/1 mpu 0b cburst {options['cburst']}b/1 mpu 0b level 0 \n"
        f" Sent {item.sent_bytes} bytes 7 pkt (dropped {item.drops}, "
        f"overlimits {item.overlimits} requeues 0) \n"
        f" backlog {item.backlog_bytes}b 3p requeues 0\n"
        " lended: 0 borrowed: 0 giants: 0\n tokens: 10 ctokens: 10\n\n"
    )


def shown_rate(rate: int) -> str:
    """As iproute2 prints rates: the largest unit that keeps four digits or loses none."""
    value, unit = rate // 8 * 8, 0
    while value >= 1000 and (value % 1000 == 0 or value >= 1_000_000):
        value //= 1000
        unit += 1
    return f"{value}{('', 'K', 'M', 'G', 'T')[unit]}bit"
