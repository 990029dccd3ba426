"""What allocations and hosts got in the newest judged window: lists show it without any sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from accounts.models import Organisation
from advisor.history.history import History
from advisor.history.recordset import write_rows
from advisor.models import NewestRates, Unit
from advisor.resource_kinds.registry import traits_of
from ingest.core.grid import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatesByKey:
    """Allocations in the order of their keys, and the rate of each in its resource's unit."""

    keys: Integers
    rates: Floats

    def of(self, keys: Integers) -> Floats:
        """The rates of these allocations; NaN where nothing is known."""
        if not len(self.keys):
            return np.full(len(keys), np.nan)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.rates[places], np.nan)


_COLUMNS = {
    "resource_id": "bigint",
    "at": "timestamptz",
    "allocations": "bytea",
    "rates": "bytea",
    "hosts": "jsonb",
}
_WRITE = """
    INSERT INTO advisor_newestrates (resource_id, at, allocations, rates, hosts)
    SELECT {names} FROM {rows}
        ON CONFLICT (resource_id) DO UPDATE
       SET at = excluded.at, allocations = excluded.allocations, rates = excluded.rates,
           hosts = excluded.hosts
"""


def save_newest_rates(histories: Iterable[History]) -> None:
    """Keep what allocations and hosts got in the last window of each, in one statement."""
    rows = []
    for history in histories:
        if history.grid.count:
            newest = history.allocations.rate[-1]
            known = ~np.isnan(newest)
            keys = history.allocations.keys[known].astype("<i8").tobytes()
            rates = newest[known].astype("<f8").tobytes()
            rows.append((history.resource.pk, history.grid.until, keys, rates, _by_host(history)))
    if rows:
        write_rows(_WRITE, _COLUMNS, rows)


def _by_host(history: History) -> dict[str, float]:
    """What the devices of each host carried in the last window, by its name."""
    devices = history.devices
    newest = history.resource.traits.reader.carried(devices.figures)[-1]
    found: dict[str, float] = defaultdict(float)
    for host, rate in zip(devices.hosts, newest.tolist(), strict=True):
        # NaN is not measured.
        if rate == rate:
            found[host] += rate
    return found


def newest_rates(organisation: Organisation, *, since: datetime) -> RatesByKey:
    """Of the resources of the organisation whose newest judged window ended after `since`."""
    rows = NewestRates.objects.filter(resource__organisation=organisation, at__gt=since)
    found = list(rows.order_by().values_list("allocations", "rates"))
    keys = np.frombuffer(b"".join(bytes(own) for own, _ in found), dtype="<i8")
    rates = np.frombuffer(b"".join(bytes(own) for _, own in found), dtype="<f8")
    order = np.argsort(keys)
    return RatesByKey(keys=keys[order].astype(np.int64), rates=rates[order].astype(np.float64))


def newest_host_rates(
    organisation: Organisation, *, since: datetime
) -> dict[Unit, dict[str, float]]:
    """By unit of load and name of the host what its devices did, in windows as above."""
    rows = NewestRates.objects.filter(resource__organisation=organisation, at__gt=since)
    found: dict[Unit, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for kind, hosts in rows.order_by().values_list("resource__kind", "hosts"):
        for host, rate in hosts.items():
            found[traits_of(kind).load_unit][host] += rate
    return found
