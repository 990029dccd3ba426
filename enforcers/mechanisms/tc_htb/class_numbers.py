"""Which allocation has which class number. Pure."""

import hashlib
from collections.abc import Mapping, Sequence

from enforcers.contract import Allocation, Pool
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
    allocations: Sequence[Allocation],
    matches: Mapping[str, Match],
    observed: HtbObserved,
    pools: Mapping[str, str],
) -> dict[str, str]:
    """The class of the filter that is there already, else one no filter leads to.

    `pools` are the classes of pools by id. HTB moves no class below another one, so who comes
    into a pool, or leaves it, has another class.
    """
    result: dict[str, str] = {}
    # Of filters that tell the same packets the first decides.
    present = {told_by(item): item.flowid or "" for item in reversed(observed.filters)}
    used = {*SHARED_CLASSES, *pools.values()}
    for item in allocations:
        flowid = present.get(matches[item.id].told, "")
        parent = pools.get(item.pool or "", ROOT_CLASS)
        present_class = observed.classes.get(flowid)
        if present_class is None or flowid in used:
            continue
        if present_class.parent == parent:
            result[item.id] = flowid
            used.add(flowid)
    taken = {*(item.flowid for item in observed.filters), *result.values(), *pools.values()}
    numbers = (f"{MAJOR}:{minor:x}" for minor in range(FIRST_MINOR, LAST_MINOR + 1))
    free = (classid for classid in numbers if classid not in taken)
    for item in allocations:
        if item.id not in result and (classid := next(free, "")):
            result[item.id] = classid
    return result


def numbers_by_selectors(
    allocations: Sequence[Allocation], pools: Sequence[Pool] = ()
) -> dict[str, str]:
    """By id a number that follows from the selector and the pool, and of a pool from its id.

    The kernel does not show what the maps hold, so an agent that starts again gives each the
    class that it has. Of two that have the same the second takes the next: it may move when the
    first one goes.
    """
    result: dict[str, str] = {}
    taken: set[int] = set()
    texts = [(f"pool={pool.id}", pool.id) for pool in pools]
    texts += [(_text(item), item.id) for item in allocations[: _COUNT - len(pools)]]
    for text, key in sorted(texts):
        place = int(hashlib.sha256(text.encode()).hexdigest(), 16) % _COUNT
        while place in taken:
            place = (place + 1) % _COUNT
        taken.add(place)
        result[key] = f"{MAJOR}:{FIRST_MINOR + place:x}"
    return result


def _text(item: Allocation) -> str:
    selector = f"{item.selector.kind}={item.selector.value}"
    return selector if item.pool is None else f"{item.pool}/{selector}"
