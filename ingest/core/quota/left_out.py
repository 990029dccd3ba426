"""A batch without the series that a quota refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from ingest.core.batch import Batch, Rejection, Rows
from ingest.core.catalogue import Measurement
from ingest.core.line_protocol import excerpt
from ingest.core.mapping import SeriesKey
from ingest.core.quota.limits import Quota


def without_series(
    batch: Batch,
    refused: Mapping[SeriesKey, Quota],
    *,
    hosts: Collection[str],
    reasons: Mapping[Quota, str],
) -> Batch:
    """The other series, and a rejection for each quota that says how many rows it cost.

    `hosts` are refused as a whole, with what is said of them. A line with rows of several series
    counts as refused as often as it lost a row, and never more lines than were accepted.
    """
    places: dict[int, int] = {}
    for place, key in enumerate(batch.series):
        if key not in refused:
            places[place] = len(places)
    rows: dict[Measurement, Rows] = {}
    lost: Counter[Quota] = Counter()
    for table, found in batch.rows.items():
        for (place, time_us), values in found.items():
            if place in places:
                rows.setdefault(table, {})[places[place], time_us] = values
            else:
                lost[refused[batch.series[place]]] += 1
    facts = [fact for fact in batch.facts if fact.host not in hosts]
    # What is kept came from a line at least.
    some_kept = bool(rows or facts)
    lines = min(lost.total(), batch.accepted_lines - 1) if some_kept else batch.accepted_lines
    return replace(
        batch,
        series=[batch.series[place] for place in places],
        rows=rows,
        facts=facts,
        accepted_lines=batch.accepted_lines - lines,
        rejected_lines=batch.rejected_lines + lines,
        rejections=[*batch.rejections, *_rejections(refused, lost, reasons)],
    )


def _rejections(
    refused: Mapping[SeriesKey, Quota], lost: Mapping[Quota, int], reasons: Mapping[Quota, str]
) -> list[Rejection]:
    """One for each quota, with the first series that it refused."""
    first: dict[Quota, SeriesKey] = {}
    for key, quota in refused.items():
        first.setdefault(quota, key)
    return [
        Rejection(
            line_number=0,
            line=excerpt(f"{key.table.name},{key.tags_key}"),
            reason=reasons[quota],
            line_count=lost[quota],
        )
        for quota, key in first.items()
    ]
