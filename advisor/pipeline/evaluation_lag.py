"""How late windows are evaluated."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import redis
from django.db import transaction
from django.utils import timezone

from advisor.models import Resource
from advisor.pipeline.work_figures import note_lags

log = logging.getLogger(__name__)

DUE = timedelta(seconds=10)
"""So long after its end a window may wait for samples; what comes later is lag."""


def note_lags_when_stored(window_ends: Mapping[Resource, Sequence[datetime]]) -> None:
    """Count the lags of newly evaluated windows once their states are committed."""
    if window_ends:
        transaction.on_commit(lambda: _note(window_ends))


def _note(window_ends: Mapping[Resource, Sequence[datetime]]) -> None:
    now = timezone.now()
    lags_s: dict[int, dict[int, list[float]]] = defaultdict(dict)
    for resource, ends in window_ends.items():
        late = [max(0.0, (now - end - DUE).total_seconds()) for end in ends]
        lags_s[resource.organisation_id][resource.pk] = late
    try:
        for organisation, found in lags_s.items():
            note_lags(organisation=organisation, lags_s=found, now=now)
    except redis.RedisError as error:
        log.warning("lag of evaluation not noted", extra={"reason": str(error)})
