"""Shares of a claim: as stated, else those of the workload's tier."""

from __future__ import annotations

from advisor.core.resource import Tier, tier_shares
from advisor.models import Claim


def shares_of(claim: Claim) -> int:
    """The claim's relative weight; never derived from what it uses."""
    return claim.shares or tier_shares(Tier(claim.workload.tier))
