"""Shares of an allocation: as stated, else those of the workload's tier."""

from __future__ import annotations

from advisor.core.resource import Tier, tier_shares
from advisor.models import Allocation


def shares_of(allocation: Allocation) -> int:
    """The allocation's relative weight; never derived from what it uses."""
    return allocation.shares or tier_shares(Tier(allocation.workload.tier))
