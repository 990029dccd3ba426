"""Hosts with uplinks and workloads with network reservations, and what advice on them says."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from advisor.core.admission import UPLINK_RESERVABLE_RATIO
from advisor.core.explanation.explained import PredictedAnswer
from advisor.core.number_checks import check_amount, check_aware, check_positive, check_ratio


class CarriedSource(StrEnum):
    """Where it is known from what an uplink carries."""

    STATED = "stated"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUplinks:
    """A host: the line rates of its uplinks in bits/s, and how busy it is.

    `carries_bits_per_s` is what its smallest uplink carries of user data (None: its line rate),
    as a person stated it or as it is assumed from the line rate. `violated_since` is when its
    reservations began to exceed what may be reserved.
    """

    host: str
    uplink_bits_per_s: tuple[float, ...]
    carries_bits_per_s: float | None = None
    carries_source: CarriedSource = CarriedSource.STATED
    cpu_ratio: float = 0.0
    memory_ratio: float = 0.0
    tx_bits_per_s: float = 0.0
    violated_since: datetime | None = None

    def __post_init__(self) -> None:
        for rate in self.uplink_bits_per_s:
            check_positive(f"uplink_bits_per_s of {self.host}", rate)
        check_positive(f"carries_bits_per_s of {self.host}", self.carries_bits_per_s)
        check_ratio(f"cpu_ratio of {self.host}", self.cpu_ratio)
        check_ratio(f"memory_ratio of {self.host}", self.memory_ratio)
        check_amount(f"tx_bits_per_s of {self.host}", self.tx_bits_per_s)
        if self.violated_since is not None:
            check_aware(f"violated_since of {self.host}", self.violated_since)

    @property
    def line_bits_per_s(self) -> float:
        """The line rate of the smallest uplink; 0 without one."""
        return min(self.uplink_bits_per_s, default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkWorkload:
    """A workload with a network allocation; `host` None means that it is to be started somewhere.

    `promised` says that its reservation is in force; a new one has to fit beside those. Of two
    alike the one with the lower `rank` was promised first.
    """

    workload: str
    host: str | None
    reservation_bits_per_s: float = 0.0
    limit_bits_per_s: float | None = None
    shares: float = 50.0
    promised: bool = True
    movable: bool = True
    rank: int = 0

    def __post_init__(self) -> None:
        check_amount(f"reservation_bits_per_s of {self.workload}", self.reservation_bits_per_s)
        check_positive(f"limit_bits_per_s of {self.workload}", self.limit_bits_per_s)
        check_amount(f"shares of {self.workload}", self.shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlacementInputs:
    """A cluster whose workloads belong to one network resource pool.

    `pool_bits_per_s` None means what may be reserved on all uplinks together.
    """

    hosts: tuple[HostUplinks, ...]
    workloads: tuple[NetworkWorkload, ...]
    now: datetime
    pool_bits_per_s: float | None = None
    reservable_ratio: float = UPLINK_RESERVABLE_RATIO

    def __post_init__(self) -> None:
        check_aware("now", self.now)
        check_amount("pool_bits_per_s", self.pool_bits_per_s)
        check_ratio("reservable_ratio", self.reservable_ratio)
        _check_names("host", [one.host for one in self.hosts])
        _check_names("workload", [one.workload for one in self.workloads])
        known = {one.host for one in self.hosts}
        for one in self.workloads:
            if one.host is not None and one.host not in known:
                raise ValueError(f'workload "{one.workload}": no host "{one.host}" is given')


def _check_names(kind: str, names: list[str]) -> None:
    twice = [one for one, other in pairwise(sorted(names)) if one == other]
    if twice:
        raise ValueError(f'{kind} "{twice[0]}" is given twice')


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMove:
    """Move a workload, or start it where `source` is None; a violation has to end by `due_at`."""

    workload: str
    source: str | None
    target: str
    reservation_bits_per_s: float
    due_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedReservation:
    """A reservation that cannot be promised anywhere, or not where the workload has to stay."""

    workload: str
    reservation_bits_per_s: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlacementAdvice(PredictedAnswer):
    """Moves that make every admitted reservation hold, and the reservations that cannot.

    `effects` are rates in bits/s while everybody sends all they can.
    """

    moves: tuple[HostMove, ...]
    refused: tuple[RefusedReservation, ...]
