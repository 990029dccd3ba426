"""Reads what `tc` prints. Text, because `tc -j` prints broken JSON for HTB (iproute2 6.1)."""

import re
from dataclasses import dataclass, field

ROOT_PARENT = "root"
_RATE = re.compile(r"([0-9.]+)([KMGT]?)bit")
_SIZE = re.compile(r"([0-9.]+)([KM]?)b")
_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"": 1, "K": 2**10, "M": 2**20}
_CLASS = re.compile(r"^class htb .*$", re.MULTILINE)
_COUNTED = re.compile(
    r"Sent (\d+) bytes \d+ pkt\s+\(dropped (\d+), overlimits (\d+) .*?backlog (\S+)", re.DOTALL
)
# Reference counts change with every reader, so they are no part of what was found.
_REFCNT = re.compile(r" refcnt \d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Qdisc:
    """A queueing discipline; `parent` is `root` or a handle, `line` all that tc says of it."""

    kind: str
    handle: str
    parent: str
    line: str

    @property
    def is_ingress(self) -> bool:
        """Whether it hangs at the ingress hook, which HTB does not touch."""
        return self.kind in {"ingress", "clsact"}

    @property
    def options(self) -> tuple[str, ...]:
        """The words after its place."""
        words = self.line.split()
        after = words.index(ROOT_PARENT) + 1 if ROOT_PARENT in words else words.index("parent") + 2
        return tuple(words[after:])

    def option(self, name: str) -> str | None:
        """The word after an option's name."""
        words = self.line.split()
        return words[words.index(name) + 1] if name in words[:-1] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HtbClass:
    """An HTB class; `quantum` is None for an inner class."""

    classid: str
    parent: str
    rate_bits_per_s: int
    ceil_bits_per_s: int
    quantum_bytes: int | None
    burst_bytes: int
    cburst_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassCounters:
    """What an HTB class counts."""

    sent_bytes: int
    drops: int
    overlimits: int
    backlog_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A filter below the root; `handle` is None if only its preference identifies it.

    Of a BPF filter the name is its match.
    """

    kind: str
    protocol: str
    pref: int
    handle: str | None
    flowid: str | None = None
    indev: str | None = None
    matches: tuple[str, ...] = field(default=())


def parse_rate_bits_per_s(text: str) -> int:
    """`75Mbit` is 75000000. Raises ValueError."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a rate: {text!r}")
    return round(float(found[1]) * _DECIMAL[found[2]])


def parse_size_bytes(text: str) -> int:
    """`6Kb` is 6144. Raises ValueError."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a size: {text!r}")
    return round(float(found[1]) * _BINARY[found[2]])


def parse_qdiscs(text: str) -> tuple[Qdisc, ...]:
    """Read `tc qdisc show`, of one interface or of all."""
    result = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] != ["qdisc"] or len(words) < 4:
            continue
        parent = "root" if "root" in words else _after(words, "parent")
        result.append(
            Qdisc(
                kind=words[1],
                handle=words[2],
                parent=parent,
                line=_REFCNT.sub("", line).strip(),
            )
        )
    return tuple(result)


def class_lines(text: str) -> tuple[str, ...]:
    """What `tc -s -d class show dev DEVICE` says of HTB classes but for what they count."""
    return tuple(_CLASS.findall(text))


def parse_classes(lines: tuple[str, ...]) -> tuple[HtbClass, ...]:
    """Read lines of classes."""
    return tuple(_parse_class(line.split()) for line in lines)


def parse_counters(text: str) -> dict[str, ClassCounters]:
    """Read what HTB classes count, by class, in `tc -s class show dev DEVICE`."""
    blocks = f"\n{text}".split("\nclass htb ")[1:]
    return {block.partition(" ")[0]: _parse_counters(block) for block in blocks}


def parse_filters(text: str) -> tuple[Filter, ...]:
    """Read `tc filter show dev DEVICE parent HANDLE`, leaving out empty hash tables."""
    blocks = re.split(r"(?m)^(?=filter )", text)
    found = [_parse_filter(block) for block in blocks if block.startswith("filter ")]
    return tuple(item for item in found if item is not None)


def _parse_class(words: list[str]) -> HtbClass:
    return HtbClass(
        classid=words[2],
        parent=ROOT_PARENT if words[3] == "root" else _after(words, "parent"),
        rate_bits_per_s=parse_rate_bits_per_s(_after(words, "rate")),
        ceil_bits_per_s=parse_rate_bits_per_s(_after(words, "ceil")),
        quantum_bytes=int(_after(words, "quantum")) if "quantum" in words else None,
        burst_bytes=parse_size_bytes(_after(words, "burst").partition("/")[0]),
        cburst_bytes=parse_size_bytes(_after(words, "cburst").partition("/")[0]),
    )


def _parse_counters(block: str) -> ClassCounters:
    counted = _COUNTED.search(block)
    if counted is None:
        raise ValueError(f"class without counters: {block.partition(chr(10))[0]!r}")
    return ClassCounters(
        sent_bytes=int(counted[1]),
        drops=int(counted[2]),
        overlimits=int(counted[3]),
        backlog_bytes=parse_size_bytes(counted[4]),
    )


def _parse_filter(block: str) -> Filter | None:
    lines = block.splitlines()
    words = lines[0].split()
    kind = words[words.index("pref") + 2]
    protocol, pref = _after(words, "protocol"), int(_after(words, "pref"))
    if kind == "bpf":
        return _parse_bpf(words, protocol, pref)
    if kind != "u32":
        return Filter(kind=kind, protocol=protocol, pref=pref, handle=None)
    flowid = next(
        (word for name in ("*flowid", "flowid") for word in _following(words, name)), None
    )
    if flowid is None:
        return None
    details = [line.split() for line in lines[1:]]
    return Filter(
        kind=kind,
        protocol=protocol,
        pref=pref,
        handle=_after(words, "fh"),
        flowid=flowid,
        indev=next((line[2] for line in details if line[:2] == ["input", "dev"]), None),
        matches=tuple(" ".join(line[1:]) for line in details if line[:1] == ["match"]),
    )


def _parse_bpf(words: list[str], protocol: str, pref: int) -> Filter | None:
    """tc prints a line for the preference, and one for each program with its handle and name."""
    if "handle" not in words:
        return None
    _, name = (_following(words, "handle") + words[words.index("handle") + 2 :])[:2]
    return Filter(
        kind="bpf",
        protocol=protocol,
        pref=pref,
        handle=_after(words, "handle"),
        matches=(name,),
    )


def _after(words: list[str], name: str) -> str:
    following = _following(words, name)
    if not following:
        raise ValueError(f"no {name} in {' '.join(words)!r}")
    return following[0]


def _following(words: list[str], name: str) -> list[str]:
    return words[words.index(name) + 1 :][:1] if name in words else []
