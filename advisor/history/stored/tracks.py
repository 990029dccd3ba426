"""Finds or makes the tracks of what hosts sent samples about in an hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accounts.models import Organisation
from advisor.models import Track
from ingest.core.figures import FIGURE_KINDS, FigureKind
from ingest.grid_reader import Subject
from ingest.models import Series
from ingest.open_hours import HOUR
from ingest.series_rows import MOST_BEHIND

REACH = timedelta(minutes=30)
"""Samples this far outside an hour may say something about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSubject:
    """A subject and the key of its track."""

    track: int
    subject: Subject


def tracks_with_samples(
    organisation: Organisation, hosts: Collection[int], hour: datetime
) -> Mapping[FigureKind[Any], Sequence[KnownSubject]]:
    """By kind what the hosts sent samples about around the hour, in order of its tracks."""
    found = _subjects(hosts, hour)
    ids = _track_ids(organisation, found)
    return {
        kind: [
            KnownSubject(track=ids[kind.name, subject], subject=subject)
            for subject in sorted(found[kind.name], key=lambda one: ids[kind.name, one])
        ]
        for kind in FIGURE_KINDS
        if found[kind.name]
    }


def _subjects(hosts: Collection[int], hour: datetime) -> dict[str, set[Subject]]:
    kinds = {kind.measurement.name: kind for kind in FIGURE_KINDS}
    rows = Series.objects.filter(
        host__in=hosts,
        measurement__in=list(kinds),
        # The row may be behind what is stored.
        last_sample_at__gte=hour - REACH - MOST_BEHIND,
        first_sample_at__lte=hour + HOUR + REACH,
    )
    found: dict[str, set[Subject]] = defaultdict(set)
    for measurement, host, name, tags in rows.values_list(
        "measurement", "host_id", "subject", "tags"
    ):
        kind = kinds[measurement]
        device = tags.get("device", "") if kind.by_device else ""
        found[kind.name].add(Subject(host=host, name=name, device=device))
    return found


def _track_ids(
    organisation: Organisation, found: Mapping[str, Collection[Subject]]
) -> dict[tuple[str, Subject], int]:
    hosts = {subject.host for subjects in found.values() for subject in subjects}

    def known() -> dict[tuple[str, Subject], int]:
        rows = Track.objects.filter(host__in=hosts, kind__in=list(found))
        return {
            (kind, Subject(host=host, name=name, device=device)): pk
            for pk, kind, host, name, device in rows.values_list(
                "pk", "kind", "host_id", "subject", "device"
            )
        }

    ids = known()
    missing = sorted(
        {(kind, subject) for kind, subjects in found.items() for subject in subjects} - ids.keys()
    )
    if missing:
        Track.objects.bulk_create(
            [
                Track(
                    organisation=organisation,
                    host_id=subject.host,
                    kind=kind,
                    subject=subject.name,
                    device=subject.device,
                )
                for kind, subject in missing
            ],
            ignore_conflicts=True,
        )
        ids = known()
    return ids
