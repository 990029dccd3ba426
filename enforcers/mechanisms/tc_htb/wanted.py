"""The HTB tree that a policy asks for on one interface. Pure."""

from collections.abc import Mapping, Sequence

from enforcers.contract import Allocation, Outcome, ResourceSpec
from enforcers.mechanism import Note
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.classify import Kind, Match, match_for, told_by
from enforcers.mechanisms.tc_htb.fit import whole_problem
from enforcers.mechanisms.tc_htb.header_matches import TrafficKind
from enforcers.mechanisms.tc_htb.observed import (
    DEFAULT_CLASS,
    HOST_CLASS,
    KIND_CLASSES,
    MAJOR,
    ROOT_CLASS,
    HtbObserved,
)
from enforcers.mechanisms.tc_htb.sized import Placed, sized_tree
from enforcers.mechanisms.tc_htb.tree import Tree

SHARED_CLASSES = (ROOT_CLASS, DEFAULT_CLASS, HOST_CLASS, *KIND_CLASSES.values())
_SECOND_HOST = Note(
    outcome=Outcome.FAILED, reason="the host's own traffic belongs to another allocation already"
)
# Below are the classes of the host.
FIRST_MINOR = 0x10
LAST_MINOR = 0xFFFD


def wanted_tree(
    spec: ResourceSpec,
    allocations: tuple[Allocation, ...],
    observed: HtbObserved,
    *,
    kinds: Sequence[TrafficKind],
    has_fq_codel: bool,
) -> tuple[Tree | None, dict[str, Note]]:
    """The tree and what is to be said of allocations that are not in it.

    `kinds` are those that the host's own traffic is divided into. None means the resource as a
    whole is refused and the kernel must stay as it is.
    """
    hosts = [item for item in allocations if item.selector.kind == Kind.HOST_TRAFFIC]
    host = hosts[0] if hosts else None
    workloads = [item for item in allocations if item not in hosts]
    problem = whole_problem(spec, workloads, host)
    if problem is not None:
        return None, {item.id: problem for item in allocations}
    matches, notes = _matches(workloads, observed)
    notes |= {item.id: _SECOND_HOST for item in hosts[1:]}
    accepted = [item for item in workloads if item.id in matches]
    classids = _classids(accepted, matches, observed)
    for item in accepted:
        if item.id not in classids:
            notes[item.id] = Note(
                outcome=Outcome.FAILED, reason=f"no class number is free on {observed.device}"
            )
    placed = [
        Placed(allocation=item, classid=classids[item.id], match=matches[item.id])
        for item in accepted
        if item.id in classids
    ]
    links = [link for item in placed if (link := observed.links.get(item.match.indev or ""))]
    tree = sized_tree(
        spec,
        placed,
        sizing.largest_of([link.packets for link in [observed.links[observed.device], *links]]),
        host=host,
        kinds=kinds,
        has_fq_codel=has_fq_codel,
    )
    return tree, notes


def _matches(
    allocations: Sequence[Allocation], observed: HtbObserved
) -> tuple[dict[str, Match], dict[str, Note]]:
    matches: dict[str, Match] = {}
    taken: set[Match] = set()
    notes: dict[str, Note] = {}
    for item in allocations:
        match = match_for(item.selector)
        if isinstance(match, str):
            notes[item.id] = Note(outcome=Outcome.UNSUPPORTED, reason=match)
        elif match in taken:
            notes[item.id] = Note(
                outcome=Outcome.FAILED,
                reason=f"{item.selector.kind} {item.selector.value!r} belongs to another "
                "allocation already",
            )
        elif item.selector.kind == Kind.VNIC and match.indev not in observed.links:
            notes[item.id] = Note(
                outcome=Outcome.FAILED,
                reason=f"there is no interface {match.indev!r}; does the workload run here?",
            )
        elif item.limit is not None and item.limit < sizing.MINIMUM_RATE_BITS_PER_S:
            notes[item.id] = Note(
                outcome=Outcome.UNSUPPORTED,
                reason=f"HTB cannot limit below {sizing.MINIMUM_RATE_BITS_PER_S} bit/s",
            )
        else:
            matches[item.id] = match
            taken.add(match)
    return matches, notes


def _classids(
    allocations: list[Allocation], matches: Mapping[str, Match], observed: HtbObserved
) -> dict[str, str]:
    """Class numbers: that of the filter which is there already, else one no filter leads to."""
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
