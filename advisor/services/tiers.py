"""Shares of a claim: as stated, else those of the workload's tier."""

from __future__ import annotations

from advisor.models import Claim, Tier

SHARES_OF_TIER = {Tier.HIGH: 2000, Tier.MEDIUM: 1000, Tier.LOW: 500}
"""Seed 001, Table 1."""


def shares_of(claim: Claim) -> int:
    """The claim's relative weight; never derived from what it uses."""
    if claim.shares is not None:
        return claim.shares
    return SHARES_OF_TIER[Tier(claim.workload.tier)]
