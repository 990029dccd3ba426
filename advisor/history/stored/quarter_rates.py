"""What allocations got in one quarter of an hour, from its rows: one statement for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db import connection
from django.db.models import Max

from accounts.models import Organisation
from advisor.core.stored_hour import QUARTER_S
from advisor.models import AdapterKind, Shard, Unit
from ingest.core.canonical_figures import FIGURES
from ingest.core.figures import CGROUP_IO, INTERFACE, FigureKind
from ingest.core.grid import Floats, Integers, microseconds, moment
from ingest.open_hours import HOUR

QUARTER = timedelta(seconds=QUARTER_S)
UNITS = tuple(Unit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuarterRates:
    """Every allocation of an organisation, (allocations) each, in the order of their keys.

    `units` are places in `UNITS`. `rate` is in that unit; NaN is not known.
    """

    keys: Integers
    workloads: Integers
    resources: Integers
    units: Integers
    rate: Floats


def newest_quarter(organisation: Organisation, *, until: datetime) -> datetime | None:
    """The begin of the newest quarter that is stored and does not begin after `until`."""
    shards = Shard.objects.filter(organisation=organisation)
    hour: datetime | None = shards.aggregate(newest=Max("newest_hour"))["newest"]
    if hour is None:
        return None
    quarter_us = QUARTER_S * 1_000_000
    return min(hour + HOUR - QUARTER, moment(microseconds(until) // quarter_us * quarter_us))


def quarter_rates(
    organisation: Organisation, at: datetime, numbers: Mapping[tuple[int, int], str]
) -> QuarterRates:
    """Those of the quarter that begins `at`.

    `numbers` are those of the device of each resource on each host, by their keys; without one a
    cgroup is taken over all devices.
    """
    keys = list(numbers)
    with connection.cursor() as cursor:
        cursor.execute(
            _RATES,
            {
                "organisation": organisation.pk,
                "at": at,
                "resources": [resource for resource, _ in keys],
                "hosts": [host for _, host in keys],
                "numbers": [numbers[key] for key in keys],
                "vnic": AdapterKind.VNIC,
                "own": AdapterKind.CGROUP,
                "interface": INTERFACE.name,
                "cgroup": CGROUP_IO.name,
                "iops": Unit.IOPS,
                "units": [unit.value for unit in UNITS],
                "received": _place(INTERFACE, "bytes_received"),
                "reads": _place(CGROUP_IO, "reads"),
                "writes": _place(CGROUP_IO, "writes"),
                "read_bytes": _place(CGROUP_IO, "read_bytes"),
                "write_bytes": _place(CGROUP_IO, "write_bytes"),
            },
        )
        (packed,) = cursor.fetchone()
    rows = np.frombuffer(packed or b"", dtype=_ROW)
    return QuarterRates(
        keys=rows["key"].astype(np.int64),
        workloads=rows["workload"].astype(np.int64),
        resources=rows["resource"].astype(np.int64),
        units=rows["unit"].astype(np.int64),
        rate=rows["rate"].astype(np.float64),
    )


def _place(kind: FigureKind, name: str) -> int:  # type: ignore[type-arg]
    """The place of a figure in the arrays of its rows, which begin at 1."""
    return [figure.name for figure in FIGURES[kind.name]].index(name) + 1


_WHOLE = ("key", "workload", "resource", "unit")
_ROW = np.dtype([*((name, ">i8") for name in _WHOLE), ("rate", ">f8")])
_RATES = """
    WITH device AS MATERIALIZED (
        SELECT * FROM unnest(
            %(resources)s::bigint[], %(hosts)s::bigint[], %(numbers)s::text[]
        ) AS device(resource_id, host_id, number)
    ), found AS (
        SELECT allocation.id, allocation.workload_id, allocation.resource_id,
               array_position(%(units)s::text[], resource.unit::text) - 1 AS unit,
               sum(CASE WHEN allocation.adapter_kind = %(vnic)s THEN 8 * mean[%(received)s]
                        WHEN resource.unit = %(iops)s THEN mean[%(reads)s] + mean[%(writes)s]
                        ELSE mean[%(read_bytes)s] + mean[%(write_bytes)s] END) AS rate
          FROM advisor_allocation AS allocation
          JOIN advisor_resource AS resource ON resource.id = allocation.resource_id
          LEFT JOIN device ON device.resource_id = allocation.resource_id
                          AND device.host_id = allocation.host_id
          LEFT JOIN advisor_track AS track
            ON track.host_id = allocation.host_id AND track.subject = allocation.adapter
           AND track.kind = CASE WHEN allocation.adapter_kind = %(vnic)s THEN %(interface)s
                                 ELSE %(cgroup)s END
           AND CASE WHEN allocation.adapter_kind = %(vnic)s THEN true
                    WHEN allocation.adapter_kind = %(own)s
                    THEN device.number IS NULL OR track.device = device.number
                    ELSE track.device = allocation.vdisk END
          LEFT JOIN advisor_history_quarter AS quarter
            ON quarter.organisation_id = %(organisation)s AND quarter.track_id = track.id
           AND quarter.at = %(at)s
         WHERE resource.organisation_id = %(organisation)s
         GROUP BY allocation.id, resource.id
    )
    SELECT string_agg(
               int8send(id) || int8send(workload_id) || int8send(resource_id)
               || int8send(unit) || float8send(coalesce(rate, 'NaN')), ''::bytea ORDER BY id
           ) FROM found
"""
