"""Learn the thresholds of resources hour by hour, before the hours in which they hold.

A value never holds for windows that were judged before it was learnt, so that samples that come
later are judged as they would have been in time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet

from advisor.core.detection.normal_history import HistoryPoint, Stretch
from advisor.core.detection.threshold import (
    Threshold,
    baseline_threshold,
    peak_throughput_threshold,
)
from advisor.core.size_terms import SizeTerms
from advisor.history.levels import read_levels
from advisor.history.load_points import device_day
from advisor.history.size_terms import in_size_term, size_terms_of
from advisor.models import Incident, LearntThreshold, Resource, ThresholdMode
from advisor.pipeline.alarm_budgets import budget_of, shared_budget
from ingest.core.grid import microseconds, moment

HISTORY = timedelta(days=28)
"""The baseline is learnt from four weeks, so that it has every hour of the week four times."""

HOUR = timedelta(hours=1)


def resources_to_learn(*, now: datetime) -> QuerySet[Resource]:
    """The resources that learn their threshold, and have none for the next hour."""
    learnt = LearntThreshold.objects.filter(
        resource=OuterRef("pk"), mode=OuterRef("threshold_mode"), since=_hour_of(now) + HOUR
    )
    return Resource.objects.exclude(threshold_mode=ThresholdMode.FIXED).filter(~Exists(learnt))


def learn_threshold(*, resource: Resource, now: datetime) -> LearntThreshold:
    """Learn the threshold of the next hour, or that from now on if this hour has none.

    Safe to run twice: what is learnt for the same time is replaced.
    """
    this_hour = _hour_of(now)
    mine = resource.learnt_thresholds.filter(mode=resource.threshold_mode)
    since = this_hour + HOUR if mine.filter(since__gte=this_hour).exists() else now
    reading = _learnt(resource, until=now, since=since).at(since)
    row, _ = LearntThreshold.objects.update_or_create(
        resource=resource,
        since=since,
        defaults={
            "mode": resource.threshold_mode,
            "value": reading.value,
            "reason": reading.reason,
        },
    )
    return row


def _hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _learnt(resource: Resource, *, until: datetime, since: datetime) -> Threshold:
    """From what is known by `until`, in the size term that holds when the threshold does."""
    terms = size_terms_of([resource], until=since)[resource.pk]
    size_term = terms.at_us(microseconds(since))
    if resource.threshold_mode == ThresholdMode.PEAK_THROUGHPUT:
        windows = device_day(resource, until=until)
        return peak_throughput_threshold([one.normalized_point(size_term) for one in windows])
    return _baseline(resource, terms, size_term, until=until)


def _baseline(
    resource: Resource, terms: SizeTerms, size_term: float, *, until: datetime
) -> Threshold:
    since = until - HISTORY
    judged = read_levels([resource], since=since, until=until)[resource.pk]
    levels = judged
    if resource.traits.costs_by_size:
        levels = in_size_term(judged, terms, size_term_bytes=size_term)
    known = ~np.isnan(levels.value)
    points = [
        HistoryPoint(at=moment(at_us), value=value)
        for at_us, value in zip(
            levels.at_us[known].tolist(), levels.value[known].tolist(), strict=True
        )
    ]
    return baseline_threshold(
        points,
        congested=_congested(resource, since=since, until=until),
        percentile=resource.baseline_percentile,
        budget=budget_of(resource, shared_budget(resource.organisation_id)),
        full_at=resource.traits.threshold if resource.traits.fixed_capacity else None,
    )


def _congested(resource: Resource, *, since: datetime, until: datetime) -> list[Stretch]:
    rows = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=since), resource=resource, started_at__lt=until
    )
    return [
        Stretch(began_at=started_at, ended_at=ended_at or until)
        for started_at, ended_at in rows.values_list("started_at", "ended_at")
    ]
