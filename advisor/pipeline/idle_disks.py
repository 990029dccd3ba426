"""Disks that nobody uses: a new window of theirs is told from counters that stand still.

Their state is that of the window before, so nothing but its end is written. Once an hour, and as
soon as anything moves, they are judged as all others are; the detector's state is brought up to
date then (`advisor.core.detection.congestion`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.expressions import RawSQL
from django.utils import timezone

from advisor.core.level_records import hour_of
from advisor.history.inventory import Inventory
from advisor.history.measured import measure
from advisor.history.subjects import device_subject
from advisor.history.whole_windows import Waiting
from advisor.models import (
    LateChange,
    Resource,
    ResourceStatus,
    State,
    ThresholdMode,
)
from advisor.pipeline.evaluation_lag import NewWindows
from ingest.core.figures import DISK
from ingest.core.grid import Grid, grid_of, microseconds
from ingest.grid_reader import array_of


def leave_idle(waiting: Sequence[Waiting], known: Inventory, *, now: datetime) -> list[NewWindows]:
    """Bring those up to date whose new windows are all without I/O; these windows.

    `known` is the inventory of these resources, perhaps among others.
    """
    whole = {one.resource.pk: one.whole for one in waiting}
    by_key = {
        one.resource.pk: one.resource
        for one in waiting
        if _is_disk(one.resource) and not known.allocations[one.resource.pk]
    }
    if not by_key:
        return []
    left: dict[int, Grid] = {}
    # The statuses stay locked until what was found is written.
    with transaction.atomic():
        together: dict[tuple[float, datetime, datetime], list[int]] = defaultdict(list)
        for key, judged_until in _idle(by_key):
            together[by_key[key].window_s, judged_until, whole[key].end].append(key)
        for (window_s, since, end), keys in together.items():
            grid = grid_of(since, end, window_s)
            if grid.count and hour_of(grid.until_us) == hour_of(microseconds(since)):
                part = known.part([by_key[key] for key in keys])
                left |= dict.fromkeys(_still(part, grid), grid)
        _write(left, now)
    stored_at = timezone.now()
    return [
        NewWindows(
            resource=by_key[key],
            ends=grid.ends,
            heard_at=whole[key].heard_at,
            stored_at=stored_at,
        )
        for key, grid in left.items()
    ]


def _is_disk(resource: Resource) -> bool:
    return resource.traits.reader.figures is DISK


def _idle(resources: Mapping[int, Resource]) -> list[tuple[int, datetime]]:
    """Those that did no I/O in the newest window, with its end; nobody else judges them."""
    rows = ResourceStatus.objects.filter(
        ~Exists(LateChange.objects.filter(resource=OuterRef("resource"))),
        resource__in=RawSQL("SELECT unnest(%s::bigint[])", [array_of(resources)]),
        resource__threshold_mode=ThresholdMode.FIXED,
        threshold=F("resource__threshold"),
        state=State.CLEAR,
        value=None,
        history_until=None,
        judged_until=F("last_window_at"),
    )
    locked = rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    pairs = locked.values_list("resource", "judged_until")
    return [(key, judged_until) for key, judged_until in pairs if judged_until is not None]


def _still(inventory: Inventory, grid: Grid) -> set[int]:
    """Those of which every device was measured in every window and did nothing."""
    measured = measure(inventory, grid)
    places = [
        (one.pk, device_subject(attachment))
        for one in inventory.resources
        for attachment in inventory.attachments[one.pk]
    ]
    found = measured.figures(DISK, [subject for _, subject in places])
    moved = (found.iops != 0) | (found.outstanding_io != 0) | (found.utilisation_ratio != 0)
    moving = np.logical_or.reduce(moved | (found.seconds <= 0), axis=0).tolist()
    busy = {key for (key, _), moves in zip(places, moving, strict=True) if moves}
    return {key for key, _ in places} - busy


def _write(left: Mapping[int, Grid], now: datetime) -> None:
    if not left:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE advisor_resourcestatus AS status"
            " SET judged_until = new.until, last_window_at = new.until, looked_at = %s"
            " FROM unnest(%s::bigint[], %s::timestamptz[]) AS new(resource_id, until)"
            " WHERE status.resource_id = new.resource_id",
            [now, list(left), [grid.until for grid in left.values()]],
        )
