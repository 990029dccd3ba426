"""What the BPF program (classify.bpf.c) knows packets by, and the class of each. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from ipaddress import ip_network

PREF = 5
"""Before all u32 filters: what the program knows is looked up once and no further."""
HANDLE_OF_FILTER = "0x1"
PROTOCOL = "all"
KIND = "bpf"
# As many as the program has room for.
MOST_MASKS = 4
DEEPEST_CGROUP = 8
_WHOLE_MARK = 0xFFFFFFFF
_NAME_DIGITS = 16


class Owner(StrEnum):
    """Whose packets: those of a workload are nobody else's."""

    WORKLOADS = "workloads"
    HOST = "host"


class Sort(StrEnum):
    """What of a packet is looked up."""

    MARK = "mark"
    CGROUP = "cgroup"
    INTERFACE = "interface"
    SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Sign:
    """One thing that packets are known by; `value` is as load_classifier.py reads it."""

    owner: Owner
    sort: Sort
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupPlace:
    """A control group as the kernel knows it: its number, and its depth below the root."""

    number: int
    depth: int


@dataclass(frozen=True, kw_only=True)
class Table:
    """Everything that one program looks up, each sign with its class; `program` tells which."""

    program: str
    classes: Mapping[Sign, str]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """As load_classifier.py is told them."""
        return tuple(
            f"{sign.owner},{sign.sort},{sign.value},{classid}"
            for sign, classid in sorted(self.classes.items())
        )

    @cached_property
    def name(self) -> str:
        """The filter's name: by it the kernel shows what is looked up, for each table has its own.

        The maps take no change once they are filled, so it stays true.
        """
        content = "\n".join([self.program, *self.words])
        return f"sluice-{hashlib.sha256(content.encode()).hexdigest()[:_NAME_DIGITS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classifier:
    """The program that this host can load, None with the reason if it can load none."""

    program: str | None
    why_not: str


def mark_value(text: str) -> str:
    """`7` is `0x7/0xffffffff`, `0x10/0xf0` is itself. Raises ValueError."""
    first, slash, second = text.partition("/")
    value, mask = _whole(text, first), _whole(text, second) if slash else _WHOLE_MARK
    if not 0 < mask <= _WHOLE_MARK or not 0 < value <= _WHOLE_MARK:
        raise ValueError(f"mark {text!r}: a mark and its mask are within 1..{_WHOLE_MARK:#x}")
    if value & ~mask:
        raise ValueError(f"mark {text!r} has bits outside its mask, so no packet has it")
    return f"{value:#x}/{mask:#x}"


def mask_of(value: str) -> int:
    """The mask of a mark as `mark_value` writes it."""
    return int(value.partition("/")[2], 0)


def cgroup_value(place: CgroupPlace) -> str:
    """A control group as the loader reads it."""
    return f"{place.number}/{place.depth}"


def source_value(text: str) -> str:
    """A source address or network. Raises ValueError."""
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ValueError(f"source address {text!r}: {error}") from error
    if network.prefixlen == 0:
        raise ValueError(f"source address {text!r} matches every packet")
    return str(network)


def _whole(text: str, word: str) -> int:
    try:
        return int(word, 0)
    except ValueError as error:
        raise ValueError(f"mark {text!r} is not VALUE or VALUE/MASK") from error
