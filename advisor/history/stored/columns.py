"""Where subjects are stored: in which columns of which shards, and from when until when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from advisor.core.stored_hour import Integers
from advisor.models import Member
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
    members = Member.objects.filter(
        track__kind__in=list(kinds),
        track__host__in={subject.host for _, subject in own},
        track__subject__in={subject.name for _, subject in own},
    )
    if organisations is not None:
        members = members.filter(track__organisation__in=organisations)
    stays: dict[tuple[str, int], list[tuple[datetime, int, int]]] = defaultdict(list)
    owners = set()
    for organisation, name, host, subject, device, since, shard, column in members.order_by(
        "track", "since"
    ).values_list(
        "track__organisation",
        "track__kind",
        "track__host",
        "track__subject",
        "track__device",
        "since",
        "shard_id",
        "column",
    ):
        place = own.get((name, Subject(host=host, name=subject, device=device)))
        if place is not None:
            stays[name, place].append((since, shard, column))
            owners.add(organisation)
    return _shards(kinds, stays), owners


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
