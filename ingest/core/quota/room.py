"""Which new series fit in the quotas of series and hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ingest.core.mapping import SeriesKey
from ingest.core.quota.limits import Quota

Room = Mapping[Quota, int]
"""How many rows may be added, below zero if there are too many; absent: as many as come."""


def refused_series(
    new: Sequence[SeriesKey], *, known_hosts: Collection[str], room: Room
) -> dict[SeriesKey, Quota]:
    """The series that do not fit, with the quota that is used up; each is in `new` once.

    Known hosts come first, series by series. A new host comes with all of its series or not at
    all, because half a host could not be told from a whole one.
    """
    of_host: dict[str, list[SeriesKey]] = {}
    for key in new:
        of_host.setdefault(key.host, []).append(key)
    series = room.get(Quota.SERIES, len(new))
    hosts = room.get(Quota.HOSTS, len(of_host))
    refused: dict[SeriesKey, Quota] = {}
    for host, keys in of_host.items():
        if host in known_hosts:
            fitting = min(max(series, 0), len(keys))
            refused.update(dict.fromkeys(keys[fitting:], Quota.SERIES))
            series -= fitting
    for host, keys in of_host.items():
        if host in known_hosts:
            continue
        if hosts < 1:
            refused.update(dict.fromkeys(keys, Quota.HOSTS))
        elif series < len(keys):
            refused.update(dict.fromkeys(keys, Quota.SERIES))
        else:
            hosts -= 1
            series -= len(keys)
    return refused
