"""How the packets of each workload on an interface are told, or why they cannot be. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from enforcers.contract import Allocation, Outcome, Selector
from enforcers.mechanism import Note
from enforcers.mechanisms.tc_htb import signs, sizing
from enforcers.mechanisms.tc_htb.classify import BY_U32, Claim, Kind, Match, match_for
from enforcers.mechanisms.tc_htb.header_matches import TrafficKind
from enforcers.mechanisms.tc_htb.host_kinds import HostKind
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from enforcers.mechanisms.tc_htb.signs import Classifier, Owner, Sign, Sort

_SORTS = {
    Kind.VNIC: Sort.INTERFACE,
    Kind.SOURCE_ADDRESS: Sort.SOURCE,
    Kind.CGROUP: Sort.CGROUP,
    Kind.MARK: Sort.MARK,
}


def claims(
    allocations: Sequence[Allocation], observed: HtbObserved, classifier: Classifier
) -> tuple[dict[str, Claim], dict[str, Note]]:
    """By allocation of a workload; the notes are of those that get nothing."""
    found: dict[str, Claim] = {}
    notes: dict[str, Note] = {}
    taken: set[Match | Sign] = set()
    masks: set[int] = set()
    for item in allocations:
        claim = _claim(item, observed, classifier)
        if isinstance(claim, Claim) and claim.told in taken:
            claim = Note(
                outcome=Outcome.FAILED,
                reason=f"{item.selector.kind} {item.selector.value!r} belongs to another "
                "allocation already",
            )
        if isinstance(claim, Claim):
            claim = _within_masks(claim, masks)
        if isinstance(claim, Note):
            notes[item.id] = claim
        else:
            found[item.id] = claim
            taken.add(claim.told)
    return found, notes


def kinds_with_signs(
    kinds: Sequence[TrafficKind], observed: HtbObserved, classifier: Classifier
) -> tuple[TrafficKind, ...]:
    """The kinds as the program tells them here; a control group that is not there has nothing."""
    if classifier.program is None:
        return tuple(replace(kind, signs=()) for kind in kinds)
    return tuple(
        replace(kind, signs=(*kind.signs, *_of_groups(kind.cgroups, observed))) for kind in kinds
    )


def stated_kinds(
    allocations: Sequence[Allocation], present: Sequence[HostKind]
) -> tuple[dict[HostKind, Allocation], dict[str, Note]]:
    """The allocations of kinds of the host's own traffic that have a class of their own."""
    found: dict[HostKind, Allocation] = {}
    notes: dict[str, Note] = {}
    for item in allocations:
        value = item.selector.value
        problem = _too_small(item)
        if value not in set(present):
            known = ", ".join(present) or "none"
            problem = Note(
                outcome=Outcome.UNSUPPORTED,
                reason=f"{value!r} is no kind of this host's own traffic (now: {known}); "
                "see tc_htb.host_kinds",
            )
        elif value in found:
            problem = Note(
                outcome=Outcome.FAILED, reason=f"kind {value!r} belongs to another allocation"
            )
        if problem is None:
            found[HostKind(value)] = item
        else:
            notes[item.id] = problem
    return found, notes


def _too_small(item: Allocation) -> Note | None:
    if item.limit is None or item.limit >= sizing.MINIMUM_RATE_BITS_PER_S:
        return None
    return Note(
        outcome=Outcome.UNSUPPORTED,
        reason=f"HTB cannot limit below {sizing.MINIMUM_RATE_BITS_PER_S} bit/s",
    )


def _of_groups(paths: Sequence[str], observed: HtbObserved) -> list[Sign]:
    places = [observed.cgroups.get(path) for path in paths]
    return [
        Sign(owner=Owner.HOST, sort=Sort.CGROUP, value=signs.cgroup_value(place))
        for place in places
        if place is not None and place.depth <= signs.DEEPEST_CGROUP
    ]


def _claim(item: Allocation, observed: HtbObserved, classifier: Classifier) -> Claim | Note:
    selector = item.selector
    if selector.kind == Kind.VNIC and selector.value not in observed.links:
        return Note(
            outcome=Outcome.FAILED,
            reason=f"there is no interface {selector.value!r}; does the workload run here?",
        )
    if (problem := _too_small(item)) is not None:
        return problem
    if classifier.program is None or selector.kind not in _SORTS:
        return _by_u32(selector, observed, classifier)
    return _by_program(selector, observed)


def _by_u32(selector: Selector, observed: HtbObserved, classifier: Classifier) -> Claim | Note:
    match = match_for(selector)
    if isinstance(match, Match):
        link = observed.links.get(match.indev or "")
        return Claim(told=match, thing=None if link is None else str(link.index))
    needs_program = selector.kind in _SORTS and selector.kind not in BY_U32
    why = f"; for that it needs BPF: {classifier.why_not}" if needs_program else ""
    return Note(outcome=Outcome.UNSUPPORTED, reason=f"{match}{why}")


def _by_program(selector: Selector, observed: HtbObserved) -> Claim | Note:
    thing = None
    try:
        match selector.kind:
            case Kind.VNIC:
                thing = value = str(observed.links[selector.value].index)
            case Kind.CGROUP:
                place = _place(selector.value, observed.cgroups)
                if isinstance(place, Note):
                    return place
                thing, value = f"cgroup {place.number}", signs.cgroup_value(place)
            case Kind.MARK:
                value = signs.mark_value(selector.value)
            case _:
                value = signs.source_value(selector.value)
    except ValueError as error:
        return Note(outcome=Outcome.UNSUPPORTED, reason=str(error))
    sort = _SORTS[Kind(selector.kind)]
    return Claim(told=Sign(owner=Owner.WORKLOADS, sort=sort, value=value), thing=thing)


def _place(path: str, places: Mapping[str, signs.CgroupPlace]) -> signs.CgroupPlace | Note:
    place = places.get(path)
    if place is None:
        return Note(
            outcome=Outcome.FAILED,
            reason=f"there is no control group {path!r}; does the workload run here?",
        )
    if place.depth > signs.DEEPEST_CGROUP:
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"{path} lies {place.depth} groups deep, and packets are told down to "
            f"{signs.DEEPEST_CGROUP}",
        )
    return place


def _within_masks(claim: Claim, masks: set[int]) -> Claim | Note:
    if not isinstance(claim.told, Sign) or claim.told.sort is not Sort.MARK:
        return claim
    mask = signs.mask_of(claim.told.value)
    if mask not in masks and len(masks) == signs.MOST_MASKS:
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"marks have {signs.MOST_MASKS} masks at most on one host; "
            f"{mask:#x} would be one more",
        )
    masks.add(mask)
    return claim
