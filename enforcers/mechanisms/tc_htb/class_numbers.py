"""Which allocation has which class number. Pure."""

import hashlib
from collections.abc import Mapping, Sequence

from enforcers.contract import Allocation
from enforcers.mechanisms.tc_htb.classify import Match, told_by
from enforcers.mechanisms.tc_htb.observed import (
    DEFAULT_CLASS,
    HOST_CLASS,
    KIND_CLASSES,
    MAJOR,
    ROOT_CLASS,
    HtbObserved,
)

SHARED_CLASSES = (ROOT_CLASS, DEFAULT_CLASS, HOST_CLASS, *KIND_CLASSES.values())
# Below are the classes of the host.
FIRST_MINOR = 0x10
LAST_MINOR = 0xFFFD
_COUNT = LAST_MINOR - FIRST_MINOR + 1


def numbers_by_filters(
    allocations: Sequence[Allocation], matches: Mapping[str, Match], observed: HtbObserved
) -> dict[str, str]:
    """The class of the filter that is there already, else one no filter leads to."""
    result: dict[str, str] = {}
    # Of filters that tell the same packets the first decides.
    present = {told_by(item): item.flowid or "" for item in reversed(observed.filters)}
    used = set(SHARED_CLASSES)
    for item in allocations:
        flowid = present.get(matches[item.id].told, "")
        if flowid in observed.classes and flowid not in used:
            result[item.id] = flowid
            used.add(flowid)
    taken = {*(item.flowid for item in observed.filters), *result.values()}
    numbers = (f"{MAJOR}:{minor:x}" for minor in range(FIRST_MINOR, LAST_MINOR + 1))
    free = (classid for classid in numbers if classid not in taken)
    for item in allocations:
        if item.id not in result and (classid := next(free, "")):
            result[item.id] = classid
    return result


def numbers_by_selectors(allocations: Sequence[Allocation]) -> dict[str, str]:
    """A number that follows from the selector, for the kernel does not show what the maps hold.

    So an agent that starts again gives each the class that it has. Of two that have the same the
    second takes the next: it may move when the first one goes.
    """
    result: dict[str, str] = {}
    taken: set[int] = set()
    for text, key in sorted((f"{item.selector.kind}={item.selector.value}", item.id)
                            for item in allocations[:_COUNT]):  # fmt: skip
        place = int(hashlib.sha256(text.encode()).hexdigest(), 16) % _COUNT
        while place in taken:
            place = (place + 1) % _COUNT
        taken.add(place)
        result[key] = f"{MAJOR}:{FIRST_MINOR + place:x}"
    return result
