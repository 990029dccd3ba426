"""The HTB tree that a policy asks for on one interface. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from enforcers.contract import Allocation, Outcome, Pool, ResourceSpec
from enforcers.mechanism import Note
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.claims import claims, kinds_with_signs, stated_kinds
from enforcers.mechanisms.tc_htb.class_numbers import numbers_by_filters, numbers_by_selectors
from enforcers.mechanisms.tc_htb.classify import Claim, Kind, Match
from enforcers.mechanisms.tc_htb.fit import beyond_host_limit, host_rate_of, whole_problem
from enforcers.mechanisms.tc_htb.header_matches import TrafficKind
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from enforcers.mechanisms.tc_htb.pooled import PlacedPool
from enforcers.mechanisms.tc_htb.signs import Classifier
from enforcers.mechanisms.tc_htb.sized import Placed, sized_tree
from enforcers.mechanisms.tc_htb.tree import Tree
from enforcers.mechanisms.tc_htb.turns import turned

_SECOND_HOST = Note(
    outcome=Outcome.FAILED, reason="the host's own traffic belongs to another allocation already"
)


def wanted_tree(
    spec: ResourceSpec,
    allocations: tuple[Allocation, ...],
    observed: HtbObserved,
    *,
    pools: Sequence[Pool],
    idle: frozenset[str],
    kinds: Sequence[TrafficKind],
    has_fq_codel: bool,
    classifier: Classifier,
) -> tuple[Tree | None, dict[str, Note]]:
    """The tree and what is to be said of allocations that are not in it.

    `kinds` are those that the host's own traffic is divided into, `idle` the classes that
    leave their turns to others of their pools. None means the resource as a
    whole is refused and the kernel must stay as it is.
    """
    hosts = [item for item in allocations if item.selector.kind == Kind.HOST_TRAFFIC]
    host = hosts[0] if hosts else None
    of_kinds = [item for item in allocations if item.selector.kind == Kind.HOST_KIND]
    workloads = [item for item in allocations if item not in hosts and item not in of_kinds]
    problem = whole_problem(spec, [*workloads, *of_kinds], host, pools)
    if problem is not None:
        return None, {item.id: problem for item in allocations}
    claimed, notes = claims(workloads, observed, classifier)
    present = _divided(kinds, spec, host)
    notes |= beyond_host_limit(spec, host, of_kinds)
    stated, untold = stated_kinds(
        [item for item in of_kinds if item.id not in notes], [item.kind for item in present]
    )
    notes |= untold
    notes |= {item.id: _SECOND_HOST for item in hosts[1:]}
    accepted = [item for item in workloads if item.id in claimed]
    # A class without any below it would be a leaf.
    filled = [pool for pool in pools if any(item.pool == pool.id for item in accepted)]
    classids = _classids(accepted, claimed, observed, filled)
    for item in accepted:
        if item.id not in classids:
            notes[item.id] = Note(
                outcome=Outcome.FAILED, reason=f"no class number is free on {observed.device}"
            )
    placed = [
        Placed(allocation=item, classid=classids[item.id], claim=claimed[item.id])
        for item in accepted
        if item.id in classids
    ]
    selectors = [item.allocation.selector for item in placed]
    vnics = [one.value for one in selectors if one.kind == Kind.VNIC]
    links = [observed.links[name] for name in (observed.device, *vnics)]
    tree = sized_tree(
        spec,
        placed,
        sizing.largest_of([link.packets for link in links]),
        pools=[PlacedPool(pool=pool, classid=classids[pool.id]) for pool in filled],
        host=host,
        kinds=kinds_with_signs(present, observed, classifier),
        stated=stated,
        has_fq_codel=has_fq_codel,
    )
    return turned(replace(tree, program=classifier.program or ""), idle), notes


def _divided(
    kinds: Sequence[TrafficKind], spec: ResourceSpec, host: Allocation | None
) -> Sequence[TrafficKind]:
    """The kinds, or none of them where the host's rate is too small for a class of each."""
    shares = [item.shares for item in kinds]
    return kinds if sizing.can_divide(host_rate_of(spec, host), shares) else ()


def _classids(
    allocations: Sequence[Allocation],
    claimed: Mapping[str, Claim],
    observed: HtbObserved,
    pools: Sequence[Pool],
) -> dict[str, str]:
    """By id the class of each allocation and each pool."""
    matches = {key: claim.told for key, claim in claimed.items() if isinstance(claim.told, Match)}
    by_filter = [item for item in allocations if item.id in matches]
    by_program = [item for item in allocations if item.id not in matches]
    hashed = numbers_by_selectors(by_program, pools)
    of_pools = {pool.id: hashed[pool.id] for pool in pools}
    return {**numbers_by_filters(by_filter, matches, observed, of_pools), **hashed}
