"""What the loop between two passes has set, and found out, on one device."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from enforcers.mechanisms.cgroup_io.iocost import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """How many looks there were at a group, and how many found its limit used up."""

    count: int = 0
    full: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Values that stand until the loop sets others; a group that is not in it has its first.

    `capacity` and `model` None are those of the policy. `no_grip` says why weights
    are not in force although they are set, and `exceeded` has what is measured of groups under
    a limit that does not hold; `looks` counts short looks at groups under one. `is_resumed`: an
    agent before this one has set it.
    """

    weights: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    exceeded: Mapping[str, float] = field(default_factory=dict)
    looks: Mapping[str, Looks] = field(default_factory=dict)
    capacity: float | None = None
    model: Model | None = None
    no_grip: str | None = None
    is_resumed: bool = False
