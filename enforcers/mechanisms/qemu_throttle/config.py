"""What the operator allows the mechanism to touch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QemuThrottleConfig:
    """The datastores, as policies name them, on which guests' disks may be limited."""

    devices: frozenset[str] = frozenset()
