"""What hosts tell the service of limits that they hold together, and what it grants each.

A host sends one `LimitsTold` for each datastore on which it has such limits, once a period, and is
answered with what each of them may do here until the next (`enforcers.limit_split`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from enforcers import canonical_json, field_checks
from enforcers.errors import ContractError
from enforcers.exchange import KEPT_PERIODS, PERIOD_S

LIMITS_VERSION = 1
_KEPT_S = KEPT_PERIODS * PERIOD_S
BORROWED_S = _KEPT_S - PERIOD_S / 2
"""After the last question that was answered a host gives back what it borrowed.

The service forgets the host later, and then gives the others what is theirs.
"""
LENT_S = _KEPT_S + BORROWED_S + PERIOD_S
"""After it last said that it lends a host may take it back without asking.

Until the service forgets it, it lends that on; who is cut off then as well gives it back
`BORROWED_S` later. A period is for what is on its way.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """A limit on one host, in its own unit per second.

    `own` is the host's part by the policy, and `rate` what it did; `is_held`: it may want more.
    It does no more than `claimed` until the next time, and only if the answer is as much.
    """

    workload: str
    own: float
    claimed: float
    rate: float
    is_held: bool

    def __post_init__(self) -> None:
        field_checks.check_name("workload", self.workload)
        field_checks.check_positive("own", self.own)
        for name in ("claimed", "rate"):
            field_checks.check_not_negative(name, getattr(self, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsTold:
    """A host's limits on one resource, for the period that ended at `period_end`.

    `period_end` is by the host's clock, and only orders what the host itself says.
    """

    schema_version: int = LIMITS_VERSION
    host: str
    resource: str
    period_end: datetime
    limits: tuple[LimitUse, ...]

    def __post_init__(self) -> None:
        canonical_json.check_version(self.schema_version, known=LIMITS_VERSION)
        field_checks.check_name("host", self.host)
        field_checks.check_name("resource", self.resource)
        names = [use.workload for use in self.limits]
        field_checks.check_unique("limits", "workload", names)
        if not names:
            raise ContractError("$.limits", "must not be empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitGrant:
    """What a workload may do on the host that asked, of what is claimed for it; or may claim."""

    workload: str
    part: float

    def __post_init__(self) -> None:
        field_checks.check_name("workload", self.workload)
        field_checks.check_not_negative("part", self.part)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsGranted:
    """The answer; of a limit that is not in it the host has no more than its own part."""

    schema_version: int = LIMITS_VERSION
    limits: tuple[LimitGrant, ...]

    def __post_init__(self) -> None:
        canonical_json.check_version(self.schema_version, known=LIMITS_VERSION)
        names = [grant.workload for grant in self.limits]
        field_checks.check_unique("limits", "workload", names)


def told_of(
    limits: Sequence[LimitUse], *, host: str, resource: str, period_end: datetime
) -> LimitsTold:
    """A host's limits for the wire."""
    return LimitsTold(host=host, resource=resource, period_end=period_end, limits=tuple(limits))


def encode_told(told: LimitsTold) -> bytes:
    """Canonical JSON of what a host tells."""
    return canonical_json.encode(told)


def decode_told(data: bytes | str) -> LimitsTold:
    """Read what a host tells; raises ContractError."""
    return canonical_json.decode_versioned(LimitsTold, data, known=LIMITS_VERSION)


def encode_granted(granted: LimitsGranted) -> bytes:
    """Canonical JSON of an answer."""
    return canonical_json.encode(granted)


def decode_granted(data: bytes | str) -> LimitsGranted:
    """Read an answer; raises ContractError."""
    return canonical_json.decode_versioned(LimitsGranted, data, known=LIMITS_VERSION)
