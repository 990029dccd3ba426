"""Kinds and units of resources, and tiers of workloads."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median_low
from typing import assert_never

PAYLOAD_RATIO = 0.94
"""User data as a fraction of the line rate, with full frames (VMware NetIOC 2015: 9.4 of 10)."""


class ResourceKind(StrEnum):
    """What workloads compete for."""

    DATASTORE = "datastore"
    UPLINK = "uplink"


class Unit(StrEnum):
    """The unit of every number that belongs to one resource."""

    IOPS = "iops"
    BYTES_PER_S = "bytes_per_s"
    BITS_PER_S = "bits_per_s"


class Tier(StrEnum):
    """Business importance, from which default shares are derived."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class LimitScope(StrEnum):
    """Whether limits of one workload's virtual disks on a datastore are added up and shared."""

    PER_VDISK = "per_vdisk"
    POOLED = "pooled"


class IoCount(StrEnum):
    """What a limit counts: I/Os of any size, or one per 32 KiB begun."""

    PLAIN = "plain"
    PER_32_KIB = "per_32_kib"


def normal_shares(shares: Sequence[int]) -> int:
    """The shares of the host's own traffic beside workloads with these: as the one in the middle.

    People write shares on scales of their own (NetIOC's normal is 50, a tier's 1000).
    """
    if not shares:
        return tier_shares(Tier.MEDIUM)
    return median_low(shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierControls:
    """What a tier gives a workload on a datastore that is counted in IOPS."""

    shares: int
    reservation_iops: float
    limit_iops: float


def tier_controls(tier: Tier) -> TierControls:
    """The default policy of a tier (VMware, SIOC on SSD datastores 2017, Table 1)."""
    match tier:
        case Tier.HIGH:
            return TierControls(shares=2000, reservation_iops=100.0, limit_iops=100_000.0)
        case Tier.MEDIUM:
            return TierControls(shares=1000, reservation_iops=50.0, limit_iops=10_000.0)
        case Tier.LOW:
            return TierControls(shares=500, reservation_iops=10.0, limit_iops=1_000.0)
        case _:
            assert_never(tier)


def tier_shares(tier: Tier) -> int:
    """Default shares of a tier: 4:2:1, as in the default policies of SIOC."""
    return tier_controls(tier).shares
