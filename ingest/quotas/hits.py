"""Notes when a quota is used up: at once, then at most every ten seconds in each process."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from django.db import DatabaseError, InterfaceError, connection

from accounts.models import Organisation
from ingest.core.quota.limits import Quota

log = logging.getLogger(__name__)

NOTED_EVERY_S = 10.0
_TOLD_AFTER_S = 60.0


@dataclass(slots=True)
class _Waiting:
    """What was not noted yet of a quota, and when something last was."""

    bodies: int = 0
    points: int = 0
    noted_s: float = float("-inf")


class Hits:
    """What this process has to note, by organisation and quota."""

    def __init__(self) -> None:
        self._waiting: dict[int, dict[Quota, _Waiting]] = {}
        self._lock = Lock()

    def note(
        self,
        organisation: Organisation,
        quota: Quota,
        *,
        now: datetime,
        bodies: int = 0,
        points: int = 0,
    ) -> None:
        """Count refused bodies and lost points; never raises, and never slows a refusal much."""
        with self._lock:
            of_organisation = self._waiting.setdefault(organisation.pk, {})
            waiting = of_organisation.setdefault(quota, _Waiting())
            waiting.bodies += bodies
            waiting.points += points
            if time.monotonic() - waiting.noted_s > _TOLD_AFTER_S:
                log.warning(
                    "quota used up",
                    extra={"organisation": organisation.slug, "quota": quota.value},
                )
        self.save_due(organisation, now=now)

    def save_due(self, organisation: Organisation, *, now: datetime) -> None:
        """Save what has waited long enough."""
        if organisation.pk not in self._waiting:
            return
        now_s = time.monotonic()
        due: list[tuple[Quota, int, int]] = []
        with self._lock:
            for quota, waiting in self._waiting[organisation.pk].items():
                is_due = now_s - waiting.noted_s >= NOTED_EVERY_S
                if is_due and (waiting.bodies or waiting.points):
                    due.append((quota, waiting.bodies, waiting.points))
                    waiting.bodies = waiting.points = 0
                    waiting.noted_s = now_s
        for quota, bodies, points in due:
            try:
                _save(organisation, quota, bodies=bodies, points=points, now=now)
            except (DatabaseError, InterfaceError) as error:
                log.warning("use of a quota not noted", extra={"reason": str(error).strip()})

    def forget(self) -> None:
        """Forget all, as in another process."""
        with self._lock:
            self._waiting.clear()


HITS = Hits()


def _save(
    organisation: Organisation, quota: Quota, *, bodies: int, points: int, now: datetime
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_quotahit AS known
                   (organisation_id, quota, refused_bodies, lost_points, last_hit_at)
            VALUES (%(organisation)s, %(quota)s, %(bodies)s, %(points)s, %(now)s)
                ON CONFLICT (organisation_id, quota) DO UPDATE
               SET refused_bodies = known.refused_bodies + excluded.refused_bodies,
                   lost_points = known.lost_points + excluded.lost_points,
                   last_hit_at = greatest(known.last_hit_at, excluded.last_hit_at)
            """,
            {
                "organisation": organisation.pk,
                "quota": quota.value,
                "bodies": bodies,
                "points": points,
                "now": now,
            },
        )
