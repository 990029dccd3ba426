"""Whether this process reads the replica: both servers are asked every two seconds at most."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections

from web.replica.alias import ALIAS
from web.replica.lag import Lag, PrimaryState, ReplicaState, lag_of

log = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0
AWAY_S = 15.0
"""One that cannot be read is left alone for so long."""
KNOWN_S = 4.0
"""What was seen longer ago says nothing: whoever looks may have to wait for an answer."""


class ReplicaWatch:
    """What was seen of the replica last. One thread looks; others go by what is known."""

    def __init__(
        self, look: Callable[[], Lag], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._look, self._clock = look, clock
        self._lock = Lock()
        self._seen = Lag(behind_s=None, reason="nobody has looked yet")
        self._seen_s = self._due_s = float("-inf")
        self._is_read: bool | None = None

    def may_be_read(self, *, most_lag_s: float) -> bool:
        """Whether what it shows is as new as it has to be."""
        if self._clock() >= self._due_s and self._lock.acquire(blocking=False):
            try:
                self._take(self._look(), most_lag_s)
            finally:
                self._lock.release()
        return bool(self._is_read) and self._clock() - self._seen_s <= KNOWN_S

    @property
    def behind_s(self) -> float | None:
        """How far it was behind when it was looked at last; None if that is not known."""
        return self._seen.behind_s

    def leave_out(self, reason: str) -> None:
        """It stopped answering."""
        self._take(Lag(behind_s=None, reason=reason), 0.0)

    def _take(self, seen: Lag, most_lag_s: float) -> None:
        is_read = seen.behind_s is not None and seen.behind_s <= most_lag_s
        self._seen, self._seen_s = seen, self._clock()
        self._due_s = self._seen_s + (LOOK_EVERY_S if seen.behind_s is not None else AWAY_S)
        if is_read == self._is_read:
            return
        self._is_read = is_read
        if is_read:
            log.info("replica is read", extra={"behind_s": seen.behind_s})
        else:
            reason = seen.reason or f"it is {seen.behind_s:.1f} s behind"
            log.warning("replica is left out", extra={"reason": reason})


_OF_PRIMARY = """
SELECT system_identifier, pg_current_wal_lsn() - '0/0', extract(epoch FROM clock_timestamp())
  FROM pg_control_system()
"""
_OF_REPLICA = """
SELECT system_identifier, pg_is_in_recovery(), pg_last_wal_replay_lsn() - '0/0',
       extract(epoch FROM pg_last_xact_replay_timestamp())
  FROM pg_control_system()
"""


def _look() -> Lag:
    try:
        system, written, now = _asked("default", _OF_PRIMARY)
        primary = PrimaryState(system=system, written_bytes=int(written), now_s=float(now))
        system, is_standby, shown, shown_at = _asked(ALIAS, _OF_REPLICA)
    except (DatabaseError, InterfaceError) as error:
        return Lag(behind_s=None, reason=reason_of(error))
    replica = ReplicaState(
        system=system,
        is_standby=is_standby,
        shown_bytes=None if shown is None else int(shown),
        shown_s=None if shown_at is None else float(shown_at),
    )
    return lag_of(replica, primary)


def _asked(alias: str, statement: str) -> tuple[Any, ...]:
    with connections[alias].cursor() as cursor:
        cursor.execute(statement)
        row: tuple[Any, ...] = cursor.fetchone()
    return row


def reason_of(error: BaseException) -> str:
    """What a driver says first; further lines are hints."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


WATCH = ReplicaWatch(_look)


def replica_is_read() -> bool:
    """Whether reads of this process go to the replica at this moment."""
    return WATCH.may_be_read(most_lag_s=settings.REPLICA_MOST_LAG_S)
