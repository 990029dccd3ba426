"""Kinds and units of resources, and tiers of workloads."""

from enum import StrEnum
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


def tier_shares(tier: Tier) -> int:
    """Default shares of a tier: 4:2:1, as in the default policies of SIOC."""
    match tier:
        case Tier.HIGH:
            return 2000
        case Tier.MEDIUM:
            return 1000
        case Tier.LOW:
            return 500
        case _:
            assert_never(tier)
