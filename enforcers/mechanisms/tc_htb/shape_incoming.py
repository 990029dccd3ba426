"""The changes by which what comes in is shaped, and the way back. Pure.

It is held to the same policy as what goes out, in a tree of its own: a link carries both at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from enforcers.change import Change, Command, Effect
from enforcers.contract import Allocation, ControlKind, Outcome, ResourceSpec
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Note, Plan
from enforcers.mechanisms.tc_htb.class_numbers import numbers_by_filters
from enforcers.mechanisms.tc_htb.classify import (
    Claim,
    Kind,
    Match,
    Side,
    adapter_match,
    address_match,
)
from enforcers.mechanisms.tc_htb.diff import build_changes
from enforcers.mechanisms.tc_htb.found import TC_BATCH
from enforcers.mechanisms.tc_htb.incoming import (
    IFB,
    MOST_ADAPTERS,
    REDIRECT_PREF,
    THING,
    Incoming,
    bridge_of,
)
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from enforcers.mechanisms.tc_htb.pooled import PlacedPool
from enforcers.mechanisms.tc_htb.sized import Placed, sized_tree
from enforcers.mechanisms.tc_htb.sizing import ETHERNET_HEADER_BYTES, Packets, largest_of
from enforcers.mechanisms.tc_htb.tree import Branch, Tree
from enforcers.mechanisms.tc_htb.turns import turned

CLSACT = "clsact"
# What comes in may have been merged to this size.
_MERGED_BYTES = 65536 + ETHERNET_HEADER_BYTES
_BY_ADDRESS = f"name its address instead ({Kind.SOURCE_ADDRESS})"
# The device is there before its tree, and the hook leads to it last of all.
_DEVICE_DEPTH, _HOOK_DEPTH, _REDIRECT_DEPTH = -1, 8, 9


def shaping(
    spec: ResourceSpec,
    outgoing: Tree,
    observed: HtbObserved,
    *,
    idle: frozenset[str],
    fq_codel: bool,
) -> Plan:
    """What comes in has the tree of what goes out; requires that nothing is in the way.

    `idle` are the classes of it that leave their turns to others of their pools.
    """
    incoming, tree = _looked(observed)
    told, untold = _told(outgoing, observed, incoming)
    wanted = turned(_wanted(spec, outgoing, observed, told, fq_codel=fq_codel), idle)
    return Plan(
        changes=(
            *_device_changes(tree),
            *build_changes(wanted, tree),
            *_hook_changes(observed.device, incoming, tree.device),
            *_removals(incoming.strays),
        ),
        shortfalls={key: _missing(why) for key, why in untold.items()},
        found=() if incoming.entries else (_entry(observed),),
    )


def not_shaped(outgoing: Tree, observed: HtbObserved, why: str) -> Plan:
    """What there is goes, and each allocation says why nothing of it holds for what comes in."""
    reason = f"what comes in on {observed.device} is not shaped: {why}"
    shortfalls = {item.id: _missing(reason) for item, *_ in outgoing.classes()}
    return replace(restoring_incoming(observed), shortfalls=shortfalls)


def restoring_incoming(observed: HtbObserved) -> Plan:
    """The hook leads nowhere, then the device goes. Filters of somebody else stay."""
    incoming = observed.incoming
    if incoming is None:
        return Plan()
    tree = incoming.tree
    has_device = tree is not None and _has_device(tree)
    changes = [
        *_unhooked(observed.device, incoming, has_device=has_device),
        *_removals([*([tree.device] if tree and has_device else []), *incoming.strays]),
    ]
    return Plan(changes=tuple(changes), restored=() if changes else incoming.entries)


def in_the_way(observed: HtbObserved) -> str | None:
    """What somebody else has there, None if nothing."""
    incoming, tree = _looked(observed)
    link = tree.links.get(tree.device)
    if link is not None and link.kind != IFB:
        return f"the interface {tree.device} is no {IFB} device"
    hook, discipline = incoming.hook, incoming.hook.discipline
    is_ours = hook.leads_to is not None or (bool(incoming.entries) and link is not None)
    if discipline is None or (discipline.kind == CLSACT and is_ours):
        return None
    return f"{discipline.kind} {discipline.handle} is there, which this agent did not make"


def _looked(observed: HtbObserved) -> tuple[Incoming, HtbObserved]:
    incoming = observed.incoming
    assert incoming is not None
    assert incoming.tree is not None
    return incoming, incoming.tree


def _told(
    outgoing: Tree, observed: HtbObserved, incoming: Incoming
) -> tuple[dict[str, tuple[Match, ...]], dict[str, str]]:
    """By allocation how its packets are told, and of the others why they are not."""
    told: dict[str, tuple[Match, ...]] = {}
    untold: dict[str, str] = {}
    for item, *_ in outgoing.classes():
        if item.selector.kind == Kind.HOST_TRAFFIC:
            continue
        found = _matches(item, observed, incoming)
        if isinstance(found, str):
            untold[item.id] = f"what comes in for it counts as the host's own: {found}"
        else:
            told[item.id] = found
    return told, untold


def _matches(
    item: Allocation, observed: HtbObserved, incoming: Incoming
) -> tuple[Match, ...] | str:
    selector = item.selector
    match selector.kind:
        case Kind.SOURCE_ADDRESS:
            found = address_match(selector.value, Side.DESTINATION)
            return found if isinstance(found, str) else (found,)
        case Kind.VNIC:
            return _behind(selector.value, observed, incoming)
        case Kind.MARK:
            return f"its firewall mark is set after packets have come in; {_BY_ADDRESS}"
        case Kind.CGROUP:
            return f"the control group of a packet that comes in is not known yet; {_BY_ADDRESS}"
        case Kind.HOST_KIND:
            return (
                "kinds of the host's own traffic are not told apart there; "
                f"limit all of the host's own traffic ({Kind.HOST_TRAFFIC})"
            )
        case _:
            return f"a {selector.kind} is not told of what comes in"


def _behind(vnic: str, observed: HtbObserved, incoming: Incoming) -> tuple[Match, ...] | str:
    bridge = bridge_of(observed)
    if bridge is None or observed.links[vnic].master != bridge:
        return f"{vnic} is no port of a bridge that {observed.device} is a port of; {_BY_ADDRESS}"
    addresses = incoming.adapters.get(vnic, frozenset())
    if not addresses:
        return f"{bridge} has seen no frame of {vnic} yet"
    if len(addresses) > MOST_ADAPTERS:
        return (
            f"{len(addresses)} Ethernet addresses are behind {vnic}, and {MOST_ADAPTERS} are "
            f"told at most; {_BY_ADDRESS}"
        )
    return tuple(adapter_match(address) for address in sorted(addresses))


def _wanted(
    spec: ResourceSpec,
    outgoing: Tree,
    observed: HtbObserved,
    told: Mapping[str, tuple[Match, ...]],
    *,
    fq_codel: bool,
) -> Tree:
    """The tree of the ifb device; kinds of the host's own traffic are not told apart there."""
    _, tree = _looked(observed)
    own = [branch for branch in outgoing.branches if branch.allocation.id in told]
    allocations = [branch.allocation for branch in own]
    firsts = {key: matches[0] for key, matches in told.items()}
    pools = [
        PlacedPool(pool=part.pool, classid=part.classid)
        for part in outgoing.pools
        if any(key in told for key in part.members)
    ]
    of_pools = {item.pool.id: item.classid for item in pools}
    classids = numbers_by_filters(allocations, firsts, tree, of_pools)
    link = observed.links[observed.device]
    merged = Packets(frame_bytes=link.frame_bytes, largest_bytes=_MERGED_BYTES)
    sized = sized_tree(
        spec,
        [_placed(branch, classids, firsts) for branch in own if branch.allocation.id in classids],
        largest_of([link.packets, merged]),
        pools=pools,
        host=outgoing.host.allocation,
        kinds=(),
        stated={},
        has_fq_codel=fq_codel,
    )
    branches = [
        replace(one, leaf=replace(one.leaf, matches=told[one.allocation.id]))
        for one in sized.branches
    ]
    return replace(sized, branches=tuple(branches))


def _placed(branch: Branch, classids: Mapping[str, str], firsts: Mapping[str, Match]) -> Placed:
    key = branch.allocation.id
    return Placed(
        allocation=branch.allocation,
        classid=classids[key],
        claim=Claim(told=firsts[key], thing=branch.thing),
    )


def _missing(why: str) -> dict[ControlKind, Note]:
    return dict.fromkeys(ControlKind, Note(outcome=Outcome.UNSUPPORTED, reason=why))


def _entry(observed: HtbObserved) -> LedgerEntry:
    return LedgerEntry(
        mechanism="tc_htb",
        device=observed.device,
        thing=THING,
        found="nothing",
        identity=observed.links[observed.device].identity,
    )


def _has_device(tree: HtbObserved) -> bool:
    link = tree.links.get(tree.device)
    return link is not None and link.kind == IFB


def _device_changes(tree: HtbObserved) -> Iterator[Change]:
    link = tree.links.get(tree.device)
    if link is not None and link.is_up:
        return
    # A hook that leads to a device that is down drops all that comes in.
    adding = ("ip", "link", "add", "name", tree.device, "up", "type", IFB)
    argv = adding if link is None else ("ip", "link", "set", "dev", tree.device, "up")
    yield _grows(tree.device, None if link is None else "down", "up", argv, _DEVICE_DEPTH)


def _hook_changes(device: str, incoming: Incoming, ifb: str) -> Iterator[Change]:
    hook = incoming.hook
    target = f"{device} ingress"
    if hook.leads_to == ifb:
        return
    if hook.leads_to is not None:
        yield _unled(device)
    if hook.discipline is None:
        argv = ("tc", "qdisc", "add", "dev", device, CLSACT)
        yield _grows(target, None, CLSACT, argv, _HOOK_DEPTH)
    redirect = (
        *("tc", "filter", "add", "dev", device, "ingress", "protocol", "all"),
        *("pref", str(REDIRECT_PREF), "u32", "match", "u32", "0", "0"),
        *("action", "mirred", "egress", "redirect", "dev", ifb),
    )
    yield _grows(f"{target} filter", None, f"to {ifb}", redirect, _REDIRECT_DEPTH)


def _unhooked(device: str, incoming: Incoming, *, has_device: bool) -> Iterator[Change]:
    """The discipline goes with the filter, unless somebody has filters of his own there."""
    hook, discipline = incoming.hook, incoming.hook.discipline
    is_ours = hook.leads_to is not None or has_device
    if discipline is None or discipline.kind != CLSACT or not is_ours:
        return
    if not hook.has_others:
        argv = ("tc", "qdisc", "del", "dev", device, CLSACT)
        yield _shrinks(f"{device} ingress", CLSACT, argv, _HOOK_DEPTH)
    elif hook.leads_to is not None:
        yield _unled(device)


def _unled(device: str) -> Change:
    argv = ("tc", "filter", "del", "dev", device, "ingress", "pref", str(REDIRECT_PREF))
    return _shrinks(f"{device} ingress filter", "redirect", argv, _REDIRECT_DEPTH)


def _removals(names: Sequence[str]) -> list[Change]:
    return [
        _shrinks(name, IFB, ("ip", "link", "del", "dev", name), _DEVICE_DEPTH) for name in names
    ]


def _grows(
    target: str, before: str | None, after: str, argv: tuple[str, ...], depth: int
) -> Change:
    return Change(
        target=target,
        before=before,
        after=after,
        write=Command(argv=argv, batch=TC_BATCH if argv[0] == "tc" else None),
        effect=Effect.GROW,
        depth=depth,
        allocation=None,
    )


def _shrinks(target: str, before: str, argv: tuple[str, ...], depth: int) -> Change:
    return Change(
        target=target,
        before=before,
        after=None,
        write=Command(argv=argv, batch=TC_BATCH if argv[0] == "tc" else None),
        effect=Effect.SHRINK,
        depth=depth,
        allocation=None,
    )
