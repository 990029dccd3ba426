"""What somebody set at the root of an uplink, and the commands that make it again. Pure.

tc prints nearly what it reads: units behind numbers of packets and bytes are what it does not
take back, and the options of some kinds. Whether it is the same again, `trial` finds out.
"""

import re
from collections.abc import Iterable, Sequence

from enforcers.change import Change, Command, Effect
from enforcers.mechanisms.tc_htb.tc_text import (
    ROOT_PARENT,
    Qdisc,
    parse_qdiscs,
    parse_size_bytes,
)

TC_BATCH = ("tc", "-batch", "-")

# What the kernel sets up by itself it does not number, and makes anew by itself.
UNNUMBERED = "0:"
# They have the options that they print, and take none.
_WITHOUT_OPTIONS = frozenset({"pfifo_fast"})
_PACKETS = re.compile(r"\d+p")


def set_by_somebody(qdiscs: Iterable[Qdisc]) -> tuple[Qdisc, ...]:
    """The disciplines of the transmit queue that the kernel has not set up by itself."""
    return tuple(one for one in qdiscs if not one.is_ingress and one.handle != UNNUMBERED)


def is_part_of(present: Sequence[Qdisc], found: str) -> bool:
    """Whether nothing is there but what was found, or the kernel's own in its place."""
    return _lines(set_by_somebody(present)) <= _lines(set_by_somebody(parse_qdiscs(found)))


def missing(present: Sequence[Qdisc], found: str) -> tuple[Qdisc, ...]:
    """What was found and is not there, in the order in which it is made."""
    lines = _lines(present)
    known = set_by_somebody(parse_qdiscs(found))
    return tuple(one for one in in_making_order(known) if one.line not in lines)


def in_making_order(qdiscs: Sequence[Qdisc]) -> list[Qdisc]:
    """Parents before children; of others the last one that tc shows first.

    The kernel shows the newest first, so they are shown in the same order again.
    """
    left, made = list(reversed(qdiscs)), [ROOT_PARENT]
    ordered: list[Qdisc] = []
    while ready := [one for one in left if one.parent.partition(":")[0] in made]:
        ordered += ready[:1]
        left.remove(ready[0])
        made.append(ready[0].handle.partition(":")[0])
    return [*ordered, *left]


def making_words(device: str, qdisc: Qdisc) -> tuple[str, ...]:
    """What to tell tc."""
    place = (ROOT_PARENT,) if qdisc.parent == ROOT_PARENT else ("parent", qdisc.parent)
    options = () if qdisc.kind in _WITHOUT_OPTIONS else map(_told, qdisc.options)
    return ("qdisc", "add", "dev", device, *place, "handle", qdisc.handle, qdisc.kind, *options)


def make_again(device: str, present: Sequence[Qdisc], found: str) -> tuple[Change, ...]:
    """The changes after which all is there that was found."""
    return tuple(
        Change(
            target=f"{device} qdisc {one.handle}",
            before=None,
            after=one.line,
            write=Command(argv=("tc", *making_words(device, one)), batch=TC_BATCH),
            effect=Effect.GROW,
            depth=depth,
            allocation=None,
        )
        for depth, one in enumerate(missing(present, found))
    )


def _lines(qdiscs: Iterable[Qdisc]) -> set[str]:
    return {one.line for one in qdiscs}


def _told(word: str) -> str:
    if _PACKETS.fullmatch(word):
        return word.removesuffix("p")
    try:
        return str(parse_size_bytes(word))
    except ValueError:
        return word
