"""The changes by which turns follow who of a pool sends. Pure."""

from enforcers.change import Change
from enforcers.contract import ControlKind
from enforcers.mechanism import Desired, Plan
from enforcers.mechanisms.tc_htb.observed import HtbObserved

_OF_SHARES = frozenset({ControlKind.SHARES})


def pools_with_turns(desired: Desired) -> frozenset[str]:
    """The ids of pools with shares of their own."""
    return frozenset(pool.id for pool in desired.pools if pool.shares is not None)


def both_trees(observed: HtbObserved) -> tuple[HtbObserved, ...]:
    """That of what goes out, and that of what comes in where there is one."""
    tree = None if observed.incoming is None else observed.incoming.tree
    return (observed,) if tree is None else (observed, tree)


def turns_of(desired: Desired, plan: Plan) -> tuple[Change, ...]:
    """Those of the plan that change turns only; all else is for the next pass."""
    pools = pools_with_turns(desired)
    members = {item.id for item in desired.allocations if item.pool in pools}
    return tuple(
        change
        for change in plan.changes
        if change.controls == _OF_SHARES and change.allocation in members
    )
