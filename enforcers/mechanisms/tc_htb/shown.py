"""What the kernel has of each allocation, in the words of the policy. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from enforcers.contract import Allocation, Setting
from enforcers.mechanism import Counters
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers
from enforcers.mechanisms.tc_htb.tc_text import ClassCounters, HtbClass
from enforcers.mechanisms.tc_htb.tree import Tree, describe_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The class of an allocation: what it has, on which thing, and who counts for it."""

    thing: str | None
    setting: Setting
    classid: str
    below: Sequence[str]


def shown_by(tree: Tree, observed: HtbObserved) -> Iterator[tuple[str, Shown]]:
    """By id each allocation whose class is there."""
    below = observed.below()
    for item, classid, numbers, thing in tree.classes():
        present = observed.classes.get(classid)
        if present is None:
            continue
        yield (
            item.id,
            Shown(
                thing=thing,
                setting=tree.setting(
                    _shown_numbers(numbers, present),
                    classid,
                    above=above(tree, item, observed.classes),
                ),
                classid=classid,
                below=below.get(classid, ()),
            ),
        )


def counters_of(shown: Shown, counted: Mapping[str, ClassCounters]) -> Counters:
    """Of a class; what waits or is dropped in classes below it, it does not count itself."""
    own = counted[shown.classid]
    every = [own, *(counted[key] for key in shown.below)]
    return Counters(
        total=own.sent_bytes * 8.0,
        drops=sum(item.drops for item in every),
        overlimits=sum(item.overlimits for item in every),
        backlog_bytes=sum(item.backlog_bytes for item in every),
    )


def above(tree: Tree, item: Allocation, classes: Mapping[str, HtbClass]) -> str:
    """The class of its pool as it is in these classes, else as it is wanted."""
    part = tree.part_of(item)
    if part is None:
        return ""
    present = classes.get(part.classid)
    numbers = part.numbers if present is None else _shown_numbers(part.numbers, present)
    return describe_pool(part, numbers)


def _shown_numbers(wanted: ClassNumbers, present: HtbClass) -> ClassNumbers:
    return ClassNumbers(
        rate_bits_per_s=present.rate_bits_per_s,
        ceil_bits_per_s=present.ceil_bits_per_s,
        quantum_bytes=present.quantum_bytes or wanted.quantum_bytes,
        burst_bytes=present.burst_bytes,
        cburst_bytes=present.cburst_bytes,
    )
