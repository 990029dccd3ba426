"""Which allocations may have changed most, from rates that are stored already.

Reading the samples of a minute of all workloads takes long. The newest judged window and a stored
quarter of an hour say which few of them to read.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from accounts.models import Organisation
from advisor.history.newest_rates import newest_rates
from advisor.history.stored.quarter_rates import QuarterRates, newest_quarter, quarter_rates
from advisor.models import Attachment
from ingest import queries
from ingest.core.grid import Flags, Floats
from ingest.models import Host

LIKELY = 40
"""So many workloads of each unit are read: eight times as many as are shown."""
NEWEST = timedelta(minutes=1)
"""Rates of a judged window that ended longer ago say too little of now."""
FARTHEST = timedelta(hours=1, minutes=30)
"""A quarter that begins longer before says too little. Hours are sealed 20 minutes after their
end, so the newest quarter of an hour ago began at most 35 minutes before."""


def likely_movers(
    organisation: Organisation, *, now: datetime, then: datetime
) -> list[int] | None:
    """Allocations of the workloads whose stored rates differ most, and those known only once.

    None means that all have to be read: nothing is stored of one of the times.
    """
    newest = newest_rates(organisation, since=now - NEWEST)
    quarter = newest_quarter(organisation, until=then)
    if not len(newest.keys) or quarter is None or then - quarter > FARTHEST:
        return None
    before = quarter_rates(organisation, quarter, _device_numbers(organisation))
    change = newest.of(before.keys) - before.rate
    once = np.isnan(change) & ~(np.isnan(newest.of(before.keys)) & np.isnan(before.rate))
    likely = _largest(before, np.nan_to_num(change))
    found: list[int] = before.keys[likely | once].tolist()
    return found


def _largest(rows: QuarterRates, change: Floats) -> Flags:
    """Whether each allocation is of one of the workloads of its unit that changed most."""
    span = int(rows.resources.max(initial=0)) + 1
    _, first, own = np.unique(
        rows.workloads * span + rows.resources, return_index=True, return_inverse=True
    )
    together = np.abs(np.bincount(own, weights=change, minlength=len(first)))
    chosen = np.zeros(len(first), dtype=np.bool_)
    for unit in np.unique(rows.units):
        of_unit = np.flatnonzero(rows.units[first] == unit)
        chosen[of_unit[np.argsort(-together[of_unit], kind="stable")[:LIKELY]]] = True
    return chosen[own]


def _device_numbers(organisation: Organisation) -> dict[tuple[int, int], str]:
    """By resource and host the number of its device there, where it is known."""
    told = queries.device_numbers(
        Host.objects.filter(organisation=organisation).only("pk").order_by()
    )
    attached = Attachment.objects.filter(resource__organisation=organisation).order_by()
    return {
        (resource, host): told[host, device]
        for resource, host, device in attached.values_list("resource_id", "host_id", "device")
        if (host, device) in told
    }
