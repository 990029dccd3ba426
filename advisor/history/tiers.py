"""Shares of an allocation: its own, otherwise those of the workload's tier."""

from __future__ import annotations

from advisor.core.resource import Tier, tier_shares
from advisor.models import Allocation


def shares_of(allocation: Allocation) -> int:
    """The allocation's relative weight; never derived from its load."""
    return allocation.shares or tier_shares(Tier(allocation.workload.tier))
