"""How far a replica is behind its primary, from what both say of the write-ahead log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimaryState:
    """Up to which byte of the log the primary has written, and its clock.

    `system` is the number that a cluster and its replicas share.
    """

    system: int
    written_bytes: int
    now_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """Up to which byte a replica shows the log, and when the last change there was committed.

    The moment is one of the primary's clock. None: it has shown none since its start.
    """

    system: int
    is_standby: bool
    shown_bytes: int | None
    shown_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far it is behind; None with the reason why that is not known."""

    behind_s: float | None
    reason: str = ""


def lag_of(replica: ReplicaState, primary: PrimaryState) -> Lag:
    """The primary was asked first, so a replica that shows as much was behind by nothing.

    Otherwise it is behind by no more than the age of the last change that it shows. That is too
    much where nobody changed anything for a while; the next look then finds that it shows all.
    """
    if not replica.is_standby:
        return Lag(behind_s=None, reason="it is no standby")
    if replica.system != primary.system:
        return Lag(behind_s=None, reason="it is a standby of another server")
    if replica.shown_bytes is not None and replica.shown_bytes >= primary.written_bytes:
        return Lag(behind_s=0.0)
    if replica.shown_s is None:
        return Lag(behind_s=None, reason="it does not say how far it is behind")
    return Lag(behind_s=max(0.0, primary.now_s - replica.shown_s))
