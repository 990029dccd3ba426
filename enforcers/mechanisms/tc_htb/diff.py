"""The changes that turn the observed tree into the wanted one. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from enforcers.change import Change, Command, Effect
from enforcers.contract import ControlKind
from enforcers.mechanisms.tc_htb import signs
from enforcers.mechanisms.tc_htb.classify import Match, told_by
from enforcers.mechanisms.tc_htb.found import TC_BATCH
from enforcers.mechanisms.tc_htb.observed import (
    DEFAULT_CLASS,
    HANDLE,
    HOST_CLASS,
    ROOT_CLASS,
    HtbObserved,
)
from enforcers.mechanisms.tc_htb.program import LOADER, LOADER_NAME
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers
from enforcers.mechanisms.tc_htb.tc_text import ROOT_PARENT, Filter, HtbClass
from enforcers.mechanisms.tc_htb.tree import HostPart, Leaf, PoolPart, Tree
from enforcers.outcomes import ALL_CONTROLS

# The kernel keeps bursts as time in ticks, so they come back a little smaller.
BURST_TOLERANCE_RATIO = 0.02
BURST_TOLERANCE_S = 2e-6
# How deep a class is, by its parent; queues and filters come after all classes.
_DEPTHS = {HANDLE: 1, ROOT_CLASS: 2}
_INNER_DEPTH = 3
_LEAF_DEPTH = 4


def build_changes(tree: Tree, observed: HtbObserved) -> list[Change]:
    """From the observed to the wanted tree, leaving alone what is right already."""
    changes: list[Change] = []
    if not observed.is_ours:
        changes.append(_add_root(observed.device, observed))
    changes += _class_changes(observed, ROOT_CLASS, HANDLE, tree.root, None)
    changes += _host_changes(tree.host, observed)
    for part in tree.pools:
        changes += _pool_changes(part, observed)
    changes += _program_changes(tree, observed)
    present = {(told_by(item), item.flowid) for item in observed.filters}
    for owner, leaf in tree.leaves():
        changes += _leaf_changes(leaf, observed, owner)
        changes += [
            _filter_change(observed.device, match, leaf.classid, owner)
            for match in leaf.matches
            if (match.told, leaf.classid) not in present
        ]
    return changes + _removals(tree, observed)


def table_in_force(observed: HtbObserved) -> str | None:
    """The name of the BPF filter that is in its place, None if there is none."""
    found = [item for item in observed.filters if _is_program(item)]
    return found[0].matches[0] if found else None


def remove_root(device: str, observed: HtbObserved) -> Change:
    """Delete the whole tree; the kernel then sets up its own default again.

    What somebody had set there is made after that: its handles may be those of queues here.
    """
    return Change(
        target=f"{device} root qdisc",
        before=f"htb {HANDLE}",
        after=observed.entries[0].found,
        write=_tc("qdisc", "del", "dev", device, "root"),
        effect=Effect.SHRINK,
        depth=0,
        allocation=None,
    )


def _add_root(device: str, observed: HtbObserved) -> Change:
    minor = DEFAULT_CLASS.partition(":")[2]
    verb = "add" if observed.is_kernel_default else "replace"
    return Change(
        target=f"{device} root qdisc",
        before=observed.found_text,
        after=f"htb {HANDLE} default {minor}",
        write=_tc(
            *("qdisc", verb, "dev", device, "root"),
            *("handle", HANDLE, "htb", "default", minor),
        ),
        effect=Effect.GROW,
        depth=0,
        allocation=None,
    )


def _host_changes(host: HostPart, observed: HtbObserved) -> list[Change]:
    """The inner class of the host's own traffic; without kinds there is none."""
    if host.inner is None:
        return []
    controls = _controls(observed.classes.get(HOST_CLASS), host.inner)
    changes = _class_changes(observed, HOST_CLASS, ROOT_CLASS, host.inner, host.owner)
    return [replace(change, controls=controls) for change in changes]


def _pool_changes(part: PoolPart, observed: HtbObserved) -> list[Change]:
    """The inner class of a pool, which is one of each member's changes."""
    observed = _at_its_place(observed, part.classid, ROOT_CLASS)
    controls = _controls(observed.classes.get(part.classid), part.numbers)
    first, *others = part.members
    changes = _class_changes(observed, part.classid, ROOT_CLASS, part.numbers, first)
    return [
        replace(
            change,
            target=f"{change.target} of pool {part.pool.name!r}",
            controls=controls,
            also_of=frozenset(others),
        )
        for change in changes
    ]


def _at_its_place(observed: HtbObserved, classid: str, parent: str) -> HtbObserved:
    """Without the class if it is elsewhere: HTB moves none, so it is removed and made anew."""
    present = observed.classes.get(classid)
    is_elsewhere = present is not None and present.parent != parent
    return observed.without(classid) if is_elsewhere else observed


def _leaf_changes(leaf: Leaf, observed: HtbObserved, owner: str | None) -> list[Change]:
    """A class and its queue, which is sized by the class's numbers."""
    observed = _at_its_place(observed, leaf.classid, leaf.parent)
    present = observed.classes.get(leaf.classid)
    controls = _controls(present, leaf.numbers)
    changes = _class_changes(observed, leaf.classid, leaf.parent, leaf.numbers, owner)
    changes += _queue_changes(leaf, observed, owner)
    return [replace(change, controls=controls) for change in changes]


def _class_changes(
    observed: HtbObserved,
    classid: str,
    parent: str,
    wanted: ClassNumbers,
    allocation: str | None,
) -> list[Change]:
    device = observed.device
    present = observed.classes.get(classid)
    if present is not None and _has_numbers(present, wanted):
        return []
    verb = "add" if present is None else "change"
    shrinks = present is not None and (
        (wanted.rate_bits_per_s, wanted.ceil_bits_per_s)
        < (present.rate_bits_per_s, present.ceil_bits_per_s)
    )
    return [
        Change(
            target=f"{device} class {classid}",
            before=None if present is None else _present_text(present),
            after=_wanted_text(wanted),
            write=_tc(
                *("class", verb, "dev", device, "parent", parent, "classid", classid),
                *("htb", "rate", f"{wanted.rate_bits_per_s}bit"),
                *("ceil", f"{wanted.ceil_bits_per_s}bit"),
                *("quantum", str(wanted.quantum_bytes)),
                *("burst", str(wanted.burst_bytes), "cburst", str(wanted.cburst_bytes)),
            ),
            effect=Effect.SHRINK if shrinks else Effect.GROW,
            depth=_DEPTHS.get(parent, _INNER_DEPTH),
            allocation=allocation,
        )
    ]


def _controls(present: HtbClass | None, wanted: ClassNumbers) -> frozenset[ControlKind]:
    """The controls whose numbers differ; all of them if it is the bursts, which serve all."""
    if present is None:
        return ALL_CONTROLS
    differs = {
        ControlKind.RESERVATION: present.rate_bits_per_s != wanted.rate_bits_per_s,
        ControlKind.LIMIT: present.ceil_bits_per_s != wanted.ceil_bits_per_s,
        ControlKind.SHARES: present.quantum_bytes not in {None, wanted.quantum_bytes},
    }
    return frozenset(kind for kind, is_other in differs.items() if is_other) or ALL_CONTROLS


def _queue_changes(leaf: Leaf, observed: HtbObserved, allocation: str | None) -> list[Change]:
    device, classid, queue = observed.device, leaf.classid, leaf.queue
    present = observed.leaf(classid)
    if present is not None and queue.is_in(present):
        return []
    return [
        Change(
            target=f"{device} queue of {classid}",
            before=None if present is None else queue.shown(present),
            after=str(queue),
            write=_tc("qdisc", "replace", "dev", device, "parent", classid, *queue.words(present)),
            effect=Effect.GROW,
            depth=_LEAF_DEPTH,
            allocation=allocation,
        )
    ]


def _program_changes(tree: Tree, observed: HtbObserved) -> Iterator[Change]:
    """The BPF filter, exchanged at once where it looks up something else.

    It goes first where there is a tree: then no packet is ever led into a class that is removed.
    """
    table = tree.table
    if table is None or table_in_force(observed) == table.name:
        return
    former = {} if observed.table is None else observed.table.classes
    owners = [
        owner
        for owner, leaf in tree.leaves()
        for sign in leaf.signs
        if owner is not None and former.get(sign) != leaf.classid
    ]
    yield Change(
        target=f"{observed.device} classifier",
        before=table_in_force(observed),
        after=table.name,
        write=Command(
            argv=(
                *(LOADER_NAME, "replace", "dev", str(observed.links[observed.device].index)),
                *("parent", HANDLE, "pref", str(signs.PREF), "name", table.name),
                *table.words,
            ),
            batch=LOADER,
        ),
        effect=Effect.SHRINK if observed.is_ours else Effect.GROW,
        depth=_LEAF_DEPTH + 1,
        allocation=None,
        also_of=frozenset(owners),
    )


def _is_program(item: Filter) -> bool:
    place = (item.kind, item.protocol, item.pref, item.handle)
    return place == (signs.KIND, signs.PROTOCOL, signs.PREF, signs.HANDLE_OF_FILTER)


def _filter_change(device: str, match: Match, classid: str, allocation: str | None) -> Change:
    return Change(
        target=f"{device} filter to {classid}",
        before=None,
        after=" ".join(match.argv),
        write=_tc(
            *("filter", "add", "dev", device, "parent", HANDLE),
            *("protocol", match.protocol, "pref", str(match.pref), "u32"),
            *match.argv,
            *("classid", classid),
        ),
        effect=Effect.GROW,
        depth=_LEAF_DEPTH,
        allocation=allocation,
    )


def _removals(tree: Tree, observed: HtbObserved) -> list[Change]:
    """Filters and classes in our tree that nothing wants, or wants elsewhere."""
    device = observed.device
    parents = {leaf.classid: leaf.parent for _, leaf in tree.leaves()}
    parents[ROOT_CLASS] = ROOT_PARENT
    if tree.host.inner is not None:
        parents[HOST_CLASS] = ROOT_CLASS
    parents |= {part.classid: ROOT_CLASS for part in tree.pools}
    matches = [(one, leaf.classid) for _, leaf in tree.leaves() for one in leaf.matches]
    wanted = {(match.told, classid) for match, classid in matches}
    places = {(match.protocol, match.pref) for match, _ in matches}
    if tree.table is not None:
        places.add((signs.PROTOCOL, signs.PREF))
    changes = []
    seen: set[tuple[str, ...]] = set()
    for item in observed.filters:
        is_exchanged = tree.table is not None and _is_program(item)
        if is_exchanged or (told_by(item), item.flowid) in wanted:
            continue
        words = _filter_del(device, item, places)
        if words not in seen:
            seen.add(words)
            changes.append(
                _removal(f"{device} filter to {item.flowid}", _text(item), words, _LEAF_DEPTH)
            )
    for classid, present in observed.classes.items():
        if parents.get(classid) != present.parent:
            words = ("class", "del", "dev", device, "classid", classid)
            depth = _DEPTHS.get(present.parent, _INNER_DEPTH)
            text = _present_text(present)
            changes.append(_removal(f"{device} class {classid}", text, words, depth))
    return changes


def _tc(*words: str) -> Command:
    return Command(argv=("tc", *words), batch=TC_BATCH)


def _removal(target: str, before: str, words: tuple[str, ...], depth: int) -> Change:
    return Change(
        target=target,
        before=before,
        after=None,
        write=_tc(*words),
        effect=Effect.SHRINK,
        depth=depth,
        allocation=None,
    )


def _filter_del(device: str, item: Filter, places: set[tuple[str, int]]) -> tuple[str, ...]:
    words = (
        *("filter", "del", "dev", device, "parent", HANDLE),
        *("protocol", item.protocol, "pref", str(item.pref)),
    )
    is_shared = (item.protocol, item.pref) in places
    # Without a handle all of the preference goes, its empty hash table included.
    return (*words, "handle", item.handle, item.kind) if is_shared and item.handle else words


def _text(item: Filter) -> str:
    source = item.indev or " ".join(item.matches)
    return f"{item.kind} pref {item.pref} {source}"


def _has_numbers(present: HtbClass, wanted: ClassNumbers) -> bool:
    return (
        present.rate_bits_per_s == wanted.rate_bits_per_s
        and present.ceil_bits_per_s == wanted.ceil_bits_per_s
        and present.quantum_bytes in {None, wanted.quantum_bytes}
        and _is_burst(present.burst_bytes, wanted.burst_bytes, wanted.rate_bits_per_s)
        and _is_burst(present.cburst_bytes, wanted.cburst_bytes, wanted.ceil_bits_per_s)
    )


def _is_burst(shown: int, wanted: int, rate_bits_per_s: int) -> bool:
    tolerance = wanted * BURST_TOLERANCE_RATIO + rate_bits_per_s / 8 * BURST_TOLERANCE_S
    return abs(shown - wanted) <= tolerance


def _present_text(present: HtbClass) -> str:
    return (
        f"rate {present.rate_bits_per_s} ceil {present.ceil_bits_per_s} "
        f"quantum {present.quantum_bytes} burst {present.burst_bytes} "
        f"cburst {present.cburst_bytes}"
    )


def _wanted_text(wanted: ClassNumbers) -> str:
    return (
        f"rate {wanted.rate_bits_per_s} ceil {wanted.ceil_bits_per_s} "
        f"quantum {wanted.quantum_bytes} burst {wanted.burst_bytes} "
        f"cburst {wanted.cburst_bytes}"
    )
