"""Resources that are judged together, and those that have to be judged alone.

Samples of many resources are read in as many statements as those of one. But a resource whose
judgement fails or hangs would take its group with it: after such an end every resource of the
group is judged alone, until it succeeds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from accounts.models import Organisation
from advisor.core.turns import MOST_GROUPS, group_number
from advisor.history.inventory import kept_inventory
from advisor.history.whole_windows import with_new_windows
from advisor.models import EvaluationGroup, Resource, ResourceStatus
from advisor.pipeline import evaluation_lag
from advisor.pipeline.detect import detect_resources
from advisor.pipeline.idle_disks import leave_idle
from advisor.pipeline.note_silence import note_silence
from advisor.pipeline.rejudge import take_notes

GROUP_SIZE = 200
MOST_KEPT_GROUPS = 100
"""A process remembers the resources of so many groups, those looked at last."""
TURN_S = 5.0
"""After so long a group with windows of the past begins no other portion, so that others go on."""
KILLED_AFTER = timedelta(minutes=1)
"""A group that began so long ago and did not end was killed; the limit of its task is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of a group: how many were judged together, and who has to be judged alone."""

    together: int
    alone: tuple[int, ...]


def groups() -> Iterable[tuple[int, int]]:
    """Every group with its organisation, as numbers."""
    counts = Resource.objects.order_by("organisation").values_list("organisation")
    for organisation, count in counts.annotate(Count("pk")):
        for part in range(min(-(-count // GROUP_SIZE), MOST_GROUPS)):
            yield organisation, group_number(organisation, part)


def judge_group(number: int, *, now: datetime) -> Judged | None:
    """Judge the resources of a group together, but those that have to be judged alone.

    None: somebody else judges the group, or was killed at it a moment ago.

    If one fails, nothing of the group is kept and the error is raised: from then on its resources
    are judged alone.
    """
    organisation, part = divmod(number, MOST_GROUPS)
    members = _members(organisation, part)
    if not members:
        return Judged(together=0, alone=())
    group = _begin(organisation, part, members, now)
    if group is None:
        return None
    alone = set(
        ResourceStatus.objects.filter(resource__in=members, judged_alone=True).values_list(
            "resource", flat=True
        )
    )
    try:
        together = [one for one in members if one.pk not in alone]
        judge_together(together, now=now, limit_s=TURN_S)
    except Exception:
        _set_alone(members)
        raise
    finally:
        EvaluationGroup.objects.filter(pk=group.pk).update(ended_at=timezone.now())
    return Judged(together=len(members) - len(alone), alone=tuple(sorted(alone)))


@transaction.atomic
def _begin(
    organisation: int, part: int, members: Sequence[Resource], now: datetime
) -> EvaluationGroup | None:
    """The group, marked as begun; None if it runs already."""
    EvaluationGroup.objects.get_or_create(
        organisation_id=organisation, part=part, defaults={"began_at": now, "ended_at": now}
    )
    rows = EvaluationGroup.objects.select_for_update()
    group = rows.get(organisation_id=organisation, part=part)
    if group.ended_at is None:
        if now - group.began_at < KILLED_AFTER:
            return None
        _set_alone(members)
    group.began_at, group.ended_at = now, None
    group.save(update_fields=["began_at", "ended_at"])
    return group


def judge_together(
    resources: Sequence[Resource], *, now: datetime, limit_s: float | None = None
) -> None:
    """Judge the new windows of these resources, and say what is silent.

    Of a disk that nobody uses only the end of its windows is written.
    """
    take_notes(resources)
    waiting = with_new_windows(resources, now=now)
    if waiting:
        # Of all of them, whoever waits, so that it is found again at the next look.
        known = kept_inventory(resources)
        windows = leave_idle(waiting, known, now=now)
        idle = {one.resource.pk for one in windows}
        busy = [one for one in waiting if one.resource.pk not in idle]
        windows += detect_resources(busy, known=known, now=now, limit_s=limit_s)
        evaluation_lag.note(windows)
    note_silence(resources, now=now)


def judge_alone(resource: Resource, *, now: datetime) -> None:
    """Judge one resource; if that succeeds, it is judged with its group again."""
    judge_together([resource], now=now, limit_s=TURN_S)
    ResourceStatus.objects.filter(resource=resource, judged_alone=True).update(judged_alone=False)


def judge_all(*, organisation: Organisation, now: datetime) -> list[ResourceStatus]:
    """Bring the status of every resource of the organisation up to date, now."""
    resources = list(Resource.objects.filter(organisation=organisation))
    judge_together(resources, now=now)
    rows = ResourceStatus.objects.filter(resource__in=resources).select_related("resource")
    return list(rows.order_by("resource"))


def members_of(number: int) -> list[Resource]:
    """The resources of a group."""
    return _members(*divmod(number, MOST_GROUPS))


def _members(organisation: int, part: int) -> list[Resource]:
    """By key; each is remembered by this process until its row is written.

    A group is looked at every few seconds, and a resource seldom changes.
    """
    written = _written(organisation, part)
    key = connection.settings_dict["NAME"], organisation, part
    known = _kept_members.get(key, {})
    changed = [pk for pk, at in written.items() if pk not in known or known[pk][0] != at]
    # What is written in between is seen next time, since what is known of it is older.
    fresh = Resource.objects.filter(organisation=organisation).in_bulk(changed) if changed else {}
    now = {
        pk: (at, fresh[pk]) if pk in fresh else known[pk]
        for pk, at in written.items()
        if pk in fresh or pk in known
    }
    _kept_members[key] = now
    if len(_kept_members) > MOST_KEPT_GROUPS:
        _kept_members.popitem(last=False)
    _kept_members.move_to_end(key)
    return [resource for _, resource in now.values()]


_kept_members: OrderedDict[tuple[str, int, int], dict[int, tuple[str, Resource]]] = OrderedDict()


def _written(organisation: int, part: int) -> dict[int, str]:
    """Where and by which transaction each was written last, in order of the keys.

    A row that is written has another version, elsewhere (PostgreSQL manual, "System Columns").
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, ctid::text || xmin::text FROM advisor_resource WHERE organisation_id = %s"
            " ORDER BY id LIMIT %s OFFSET %s",
            [organisation, GROUP_SIZE, part * GROUP_SIZE],
        )
        return dict(cursor.fetchall())


def _set_alone(members: Sequence[Resource]) -> None:
    missing = [ResourceStatus(resource=one) for one in members]
    ResourceStatus.objects.bulk_create(missing, ignore_conflicts=True)
    ResourceStatus.objects.filter(resource__in=members).update(judged_alone=True)
