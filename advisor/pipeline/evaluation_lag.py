"""How late windows are evaluated."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import redis
from django.utils import timezone

from advisor.history.whole_windows import PATIENCE
from advisor.models import Resource
from advisor.pipeline.work_figures import note_lags

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWindows:
    """The ends of windows that were judged for the first time, and when a host was heard last.

    What was judged was committed at `stored_at`.
    """

    resource: Resource
    ends: Sequence[datetime]
    heard_at: datetime | None = None
    stored_at: datetime


def lag(end: datetime, *, heard_at: datetime | None, now: datetime) -> timedelta:
    """How late a window is judged that can be judged from its last sample on, or from 10 s on.

    `heard_at` is when one of its hosts was heard last: its last sample came no later.
    """
    due = end + PATIENCE
    if heard_at is not None:
        due = min(due, max(heard_at, end))
    return max(timedelta(0), now - due)


def note(windows: Iterable[NewWindows]) -> None:
    """Count the lags of newly evaluated windows, whose states are committed."""
    lags_s: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for new in windows:
        late = (lag(end, heard_at=new.heard_at, now=new.stored_at) for end in new.ends)
        own = lags_s[new.resource.organisation_id][new.resource.pk]
        own += [one.total_seconds() for one in late]
    now = timezone.now()
    try:
        for organisation, found in lags_s.items():
            note_lags(organisation=organisation, lags_s=found, now=now)
    except redis.RedisError as error:
        log.warning("lag of evaluation not noted", extra={"reason": str(error)})
