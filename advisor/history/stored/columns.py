"""Where subjects are stored: in which columns of which shards, and from when until when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from django.db import connection

from advisor.core.stored_hour import Integers
from ingest.core.figures import FigureKind
from ingest.core.grid import microseconds
from ingest.grid_reader import Subject

Wanted = Mapping[FigureKind[Any], Sequence[Subject]]

_FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """Where subjects of a kind are in a shard: an array each, with an element per stay.

    The subject with the place `own` is in the column `stored` in the hours in [since, until).
    """

    kind: FigureKind[Any]
    own: Integers
    stored: Integers
    since_us: Integers
    until_us: Integers

    def changes(self, before_us: int, after_us: int) -> bool:
        """Whether other columns belong to the subjects in one of the hours than in the other."""
        edges_us = np.concatenate([self.since_us, self.until_us])
        return bool(((before_us < edges_us) & (edges_us <= after_us)).any())

    def places(self, hour_us: int) -> tuple[Integers, Integers]:
        """Subjects and their columns in an hour."""
        here = (self.since_us <= hour_us) & (hour_us < self.until_us)
        return self.own[here], self.stored[here]


def shards_of(
    wanted: Wanted, organisations: Collection[int] | None
) -> tuple[dict[int, Shard], set[int]]:
    """The shards that the subjects are in, and whose they are, in one statement."""
    kinds = {kind.name: kind for kind, subjects in wanted.items() if subjects}
    own = {
        (name, subject): place
        for name, kind in kinds.items()
        for place, subject in enumerate(wanted[kind])
    }
    if not own:
        return {}, set()
    with connection.cursor() as cursor:
        cursor.execute(
            _STAYS,
            {
                "kinds": list(kinds),
                "hosts": list({subject.host for _, subject in own}),
                "subjects": list({subject.name for _, subject in own}),
                "organisations": None if organisations is None else list(organisations),
            },
        )
        rows = cursor.fetchall()
    stays: dict[tuple[str, int], list[tuple[datetime, int, int]]] = defaultdict(list)
    owners = set()
    for organisation, name, host, subject, device, since, shard, column in rows:
        place = own.get((name, Subject(host=host, name=subject, device=device)))
        if place is not None:
            stays[name, place].append((since, shard, column))
            owners.add(organisation)
    return _shards(kinds, stays), owners


_STAYS = """
    SELECT track.organisation_id, track.kind, track.host_id, track.subject, track.device,
           member.since, member.shard_id, member.column
      FROM advisor_track AS track
      JOIN advisor_member AS member ON member.track_id = track.id
     WHERE track.kind = ANY(%(kinds)s) AND track.host_id = ANY(%(hosts)s)
       AND track.subject = ANY(%(subjects)s)
       AND (%(organisations)s::int[] IS NULL
            OR track.organisation_id = ANY(%(organisations)s::int[]))
     ORDER BY member.since
"""
"""Nearly everything that is shown asks this, and the mapper takes longer than the database."""


def _shards(
    kinds: Mapping[str, FigureKind[Any]],
    stays: Mapping[tuple[str, int], Sequence[tuple[datetime, int, int]]],
) -> dict[int, Shard]:
    """By shard; `stays` have the begin, shard and column of each subject in order of time."""
    rows: dict[tuple[int, str], list[tuple[int, int, int, int]]] = defaultdict(list)
    for (name, place), own in stays.items():
        for (since, shard, column), (until, _, _) in pairwise([*own, (_FOREVER, 0, 0)]):
            rows[shard, name].append((place, column, microseconds(since), microseconds(until)))
    found = {}
    for (shard, name), columns in rows.items():
        # What follows one another is added up faster.
        columns.sort()
        places, stored, since_us, until_us = np.array(columns, dtype=np.int64).T
        found[shard] = Shard(
            kind=kinds[name], own=places, stored=stored, since_us=since_us, until_us=until_us
        )
    return found
