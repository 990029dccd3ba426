"""Say with the states of resources what is silent, and why others give no windows.

It is about this moment, not about a window, so the detector knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from django.core.cache import cache
from django.db import connection

from advisor.core.canonical import loads_part
from advisor.core.detection.congestion import DetectorState
from advisor.core.enumeration import listed
from advisor.core.freshness import sample_gap
from advisor.history.recordset import update_rows
from advisor.history.silence import SILENCE, silence_texts
from advisor.models import Resource, ResourceStatus, State
from ingest.grid_reader import array_of
from ingest.queries import why_unrated

ASKED_EACH_S = 60
"""Why samples give no rate takes a reading of them, which many may need while judging is late."""


def note_silence(resources: Collection[Resource], *, now: datetime) -> None:
    """Bring `silence` of their statuses up to date; safe to run twice."""
    silent = silence_texts(resources, at=now)
    changed = []
    rows = ResourceStatus.objects.filter(resource__in=_to_look_at(silent))
    for status in rows.select_related("resource"):
        said = silent[status.resource_id]
        if status.state == State.UNKNOWN and not status.reason:
            said = _without_windows(status, now) if _is_turn(status, now) else status.silence
        if said != status.silence:
            status.silence = said
            changed.append(status)
    update_rows(changed, ["silence"])


def _is_turn(status: ResourceStatus, now: datetime) -> bool:
    """Whether nothing is said yet, or nobody asked in this minute."""
    key = f"why-no-windows:{status.resource_id}:{int(now.timestamp()) // ASKED_EACH_S}"
    return not status.silence or bool(cache.add(key, 1, timeout=2 * ASKED_EACH_S))


def _to_look_at(silent: Mapping[int, str]) -> list[int]:
    """Of most resources nothing is silent, nothing was, and their state is known."""
    told = [key for key, said in silent.items() if said]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT resource_id FROM advisor_resourcestatus"
            " WHERE resource_id = ANY(%s::bigint[]) AND (resource_id = ANY(%s::bigint[])"
            " OR silence <> '' OR state = %s AND reason = '')",
            [array_of(silent), array_of(told), State.UNKNOWN],
        )
        return [key for (key,) in cursor.fetchall()]


def _without_windows(status: ResourceStatus, now: datetime) -> str:
    """Why there were no windows for so long that the state is unknown."""
    attachments = list(status.resource.attachments.select_related("host"))
    for one in attachments:
        why = why_unrated(
            status.resource.traits.reader.figures,
            host=one.host,
            name=one.device,
            since=now - SILENCE,
            until=now,
        )
        if why is not None:
            return f"samples of {one} arrive but give no rate: {why}"
    last_at = loads_part(DetectorState, status.detector).last_at if status.detector else None
    since = "" if last_at is None else f", since {last_at:%H:%M:%S} UTC"
    hosts = listed(one.host.name for one in attachments)
    return f"{sample_gap(last_at, now=now)}{since}; is Telegraf running on {hosts}?"
