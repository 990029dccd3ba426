"""What one observed window says about congestion: a value to compare, a load, or why neither."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from advisor.core.detection.latency import normalized_latency
from advisor.core.observation import (
    ClaimObservation,
    DatastoreObservation,
    Observation,
    UplinkObservation,
)

UNMET_TOLERANCE = 0.05
"""A reservation counts as unmet when this part of it is missing."""
BUSY_RATIO = 0.8
"""Below this part of its capacity, without drops or backlog, an uplink holds nobody back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`value` is normalised latency in ms, or the part of an uplink's capacity in use.

    `load` is I/Os or bits per second. None is absence, with `reason`. `own_limit` says that all
    latency of the window was caused by limits of ours; `unmet` names the workloads that were
    held below their reservation.
    """

    at: datetime
    window_s: float
    value: float | None
    load: float | None
    reason: str = ""
    own_limit: bool = False
    unmet: tuple[str, ...] = ()

    @property
    def began_at(self) -> datetime:
        """The beginning of the window."""
        return self.at - timedelta(seconds=self.window_s)


def read(observation: Observation) -> Reading:
    """The reading of one window of a datastore or uplink."""
    match observation:
        case DatastoreObservation():
            return _read_datastore(observation)
        case UplinkObservation():
            return _read_uplink(observation)
        case _:
            assert_never(observation)


def _read_datastore(observation: DatastoreObservation) -> Reading:
    latency = normalized_latency(observation.hosts)
    return Reading(
        at=observation.at,
        window_s=observation.window_s,
        value=latency.latency_ms,
        load=latency.io_count / observation.window_s if observation.hosts else None,
        reason=latency.reason,
        own_limit=latency.throttled,
    )


def _read_uplink(observation: UplinkObservation) -> Reading:
    rate, capacity = observation.tx_bits_per_s, observation.capacity_bits_per_s
    if rate is None:
        value, reason = None, "nothing was measured"
    elif capacity is None:
        value, reason = None, "the capacity is not known; state it"
    else:
        value, reason = rate / capacity, ""
    return Reading(
        at=observation.at,
        window_s=observation.window_s,
        value=value,
        load=rate,
        reason=reason,
        unmet=_unmet(observation, value),
    )


def _unmet(observation: UplinkObservation, used_ratio: float | None) -> tuple[str, ...]:
    busy = (
        (used_ratio is not None and used_ratio >= BUSY_RATIO)
        or bool(observation.drops)
        or bool(observation.backlog_bytes)
    )
    if not busy:
        return ()
    return tuple(sorted(claim.workload for claim in observation.claims if is_unmet(claim)))


def is_unmet(claim: ClaimObservation) -> bool:
    """Whether the claim has more waiting, is below its reservation, and not by its own limit."""
    missing = claim.rate < claim.reservation * (1 - UNMET_TOLERANCE)
    return missing and claim.backlogged is True and not claim.throttled
