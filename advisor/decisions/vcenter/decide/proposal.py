"""What an import proposes: changes with what was before, and what is left out with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from advisor.core.resource import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentResource:
    """A resource; `places` are (host, device) by which it is reached, with plain names."""

    pk: int
    name: str
    kind: str
    unit: Unit
    threshold: float
    threshold_mode: str
    size_bytes: float | None
    places: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """Shares (None: those of the tier), limit and reservation, in the resource's unit."""

    shares: int | None = None
    limit: float | None = None
    reservation: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentAllocation:
    """An allocation; `by_person` is one that was stated, others are the default."""

    pk: int
    resource: int
    workload: int
    host: str
    vdisk: str
    adapter_kind: str
    adapter: str
    stated: Stated
    by_person: bool
    is_gone: bool
    size_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentWorkload:
    """A workload, the keys by which it is known again, and the hosts where it is seen."""

    pk: int
    name: str
    keys: tuple[str, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What one organisation has."""

    resources: tuple[PresentResource, ...]
    workloads: tuple[PresentWorkload, ...]
    allocations: tuple[PresentAllocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationChange:
    """Other controls for an allocation; `of` is what vCenter calls it.

    `allocation` None is one that is made, measured by the counters of `adapter`. `moved_from` is
    the host where it was stated before its VM moved, empty if it did not.
    """

    allocation: int | None
    of: str
    workload: str
    resource: str
    resource_key: int
    unit: Unit
    host: str
    vdisk: str
    adapter: str
    moved_from: str
    before: Stated
    after: Stated


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdChange:
    """Another congestion threshold; `after` None keeps the value."""

    resource: int
    name: str
    before: float
    before_mode: str
    after: float | None
    after_mode: str


class WhyLeftOut(StrEnum):
    """Kinds of reason why something is not taken."""

    NO_COUNTERPART = "no counterpart"
    NOT_SEEN = "not seen yet"
    KEPT = "kept as it is here"
    NOT_READ = "not understood"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something of vCenter that is not taken: what it is, what is stated of it, and why not."""

    what: str
    stated: str
    kind: WhyLeftOut
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """All changes and all that is left out.

    `sizes` and `store_sizes` are those that were not known, by allocation and by resource.
    `rules` are lines of the organisation's rules. `same` is how many allocations and thresholds
    have what vCenter says already, `defaults` how many disks have nothing but the default.
    """

    allocations: tuple[AllocationChange, ...]
    thresholds: tuple[ThresholdChange, ...]
    sizes: Mapping[int, int]
    store_sizes: Mapping[int, int]
    rules: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    same: int
    defaults: int
