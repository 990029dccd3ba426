"""How late windows are evaluated."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

import redis
from django.db import transaction
from django.utils import timezone

from advisor.models import Resource
from advisor.pipeline.work_figures import note_lags

log = logging.getLogger(__name__)

DUE = timedelta(seconds=10)
"""So long after its end a window may wait for samples; what comes later is lag."""


def note_lags_when_stored(resource: Resource, window_ends: Iterable[datetime]) -> None:
    """Count the lags of newly evaluated windows once their states are committed."""
    ends = list(window_ends)
    if ends:
        transaction.on_commit(lambda: _note(resource, ends))


def _note(resource: Resource, ends: list[datetime]) -> None:
    now = timezone.now()
    lags_s = [max(0.0, (now - end - DUE).total_seconds()) for end in ends]
    try:
        note_lags(
            organisation=resource.organisation_id, resource=resource.pk, lags_s=lags_s, now=now
        )
    except redis.RedisError as error:
        log.warning("lag of evaluation not noted", extra={"reason": str(error)})
