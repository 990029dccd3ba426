"""The size terms of datastores at each time, and what was judged, in one of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.core.size_terms import CONSTANT, SizeTerms, cost_ratios
from advisor.history.levels import Levels
from advisor.models import LearntSizeTerm, Resource
from ingest.core.grid import microseconds


def size_terms_of(resources: Collection[Resource], *, until: datetime) -> dict[int, SizeTerms]:
    """The size terms of each by its key, for windows that end up to `until`.

    Upkeep learns them (`advisor.pipeline.learn_size_terms`).
    """
    found = dict.fromkeys((one.pk for one in resources), CONSTANT)
    sized = [one.pk for one in resources if one.traits.costs_by_size]
    if not sized:
        return found
    rows = LearntSizeTerm.objects.filter(resource__in=sized, since__lte=until).order_by(
        "resource", "since"
    )
    for key, since, term in rows.values_list("resource", "since", "size_term_bytes"):
        before = found[key]
        found[key] = SizeTerms(
            since_us=(*before.since_us, microseconds(since)),
            terms_bytes=(*before.terms_bytes, term or SIZE_TERM_BYTES),
        )
    return found


def size_term_at(resource: Resource, at: datetime) -> float:
    """The size term in force at that time, in bytes."""
    return size_terms_of([resource], until=at)[resource.pk].at_us(microseconds(at))


def in_size_term(levels: Levels, terms: SizeTerms, *, size_term_bytes: float) -> Levels:
    """What was judged, its loads and latencies as they are in one size term."""
    ratios = cost_ratios(
        levels.load,
        levels.device_load,
        terms.of_windows(levels.at_us),
        to_bytes=size_term_bytes,
    )
    return replace(levels, value=levels.value / ratios, device_load=levels.device_load * ratios)
