"""Make and keep the datastores that are found; what people stated stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from accounts.models import Organisation
from advisor.decisions.found.look import Look, datastores, device_place
from advisor.decisions.found.names import free_name
from advisor.history.recordset import update_rows
from advisor.models import Allocation, Attachment, Resource
from advisor.resource_kinds.registry import traits_of
from ingest.core.catalogue import DISKIO
from ingest.core.identity.datastores import FoundDatastore, place_key
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import Reason
from ingest.core.identity.tracking import OWN_KEYS, Known, Tracked, track
from ingest.core.lengths import LONGEST_DEVICE, LONGEST_RESOURCE_NAME

_MOST_DIGITS = 18
"""What has more fits no column."""
_COLUMNS = ("name", "identity", "reasons", "derived", "size_bytes", "vanished_at")


def keep_datastores(
    organisation: Organisation, seen: Look, *, now: datetime
) -> dict[tuple[str, ...], Resource]:
    """Bring datastores and attachments up to date; the resource of each, by its keys."""
    known = {row.pk: row for row in datastores(organisation)}
    found = [one for one in seen.storage.datastores if _places(one, seen)]
    tracked = track(_remembered(organisation, known.values()), _now_known(found))
    rows = _rows(organisation, known, found, tracked)
    taken = set(Resource.objects.filter(organisation=organisation).values_list("name", flat=True))
    taken -= {row.name for one, row in zip(found, rows, strict=True) if _is_renamed(row, one)}
    before = {row.pk: _columns(row) for row in known.values()}
    for one, row in zip(found, rows, strict=True):
        _describe(row, one, seen.facts, taken)
    for pk in tracked.vanished | tracked.absorbed.keys():
        if known[pk].discovered and known[pk].vanished_at is None:
            known[pk].vanished_at = now
    _save(rows, [row for row in known.values() if _columns(row) != before[row.pk]])
    _attach(organisation, found, rows, seen)
    for pk, at in tracked.united.items():
        if known[pk].discovered:
            _take_along(known[pk], rows[at])
    return {one.keys: row for one, row in zip(found, rows, strict=True)}


def _places(one: FoundDatastore, seen: Look) -> list[Place]:
    return [p for p in one.measured if p.host in seen.hosts and len(p.subject) <= LONGEST_DEVICE]


def _remembered(organisation: Organisation, rows: Iterable[Resource]) -> list[Known]:
    stated = Allocation.objects.filter(resource__organisation=organisation, found=False)
    relied_on = set(stated.order_by().values_list("resource_id", flat=True))
    return [
        Known(
            number=row.pk,
            keys=tuple(dict.fromkeys([*row.identity.get("keys", ()), *_attached(row)])),
            stated=not row.discovered or row.pk in relied_on,
        )
        for row in rows
    ]


def _attached(row: Resource) -> list[str]:
    return [place_key(device_place(at.host.name, at.device)) for at in row.attachments.all()]


def _now_known(found: Sequence[FoundDatastore]) -> list[Known]:
    return [Known(number=at, keys=one.keys) for at, one in enumerate(found)]


def _rows(
    organisation: Organisation,
    known: dict[int, Resource],
    found: Sequence[FoundDatastore],
    tracked: Tracked,
) -> list[Resource]:
    """The resource of each datastore; new ones have no key yet."""
    traits = traits_of("datastore")
    return [
        known[tracked.known[at]]
        if at in tracked.known
        else Resource(
            organisation=organisation,
            kind=traits.name,
            unit=traits.units[0],
            mode=traits.modes[0],
            threshold=traits.threshold,
            activity_floor=traits.activity_floor(None),
            reservable_ratio=traits.reservable_ratio,
            discovered=True,
        )
        for at in range(len(found))
    ]


def _describe(row: Resource, one: FoundDatastore, facts: Facts, taken: set[str]) -> None:
    """What is known of the datastore; a name that a person gave stays."""
    given = row.identity.get("given", "")
    if _is_renamed(row, one):
        row.name = given = free_name(one.name, taken, longest=LONGEST_RESOURCE_NAME)
        taken.add(row.name)
    row.identity = {"keys": _kept_keys(row, one), "given": given, "wanted": one.name}
    row.reasons = [_as_json(reason) for reason in one.reasons]
    size = _number(facts, one.places, "size_bytes")
    if size is not None and row.size_bytes in (None, row.derived.get("size_bytes")):
        row.size_bytes = size
        row.derived = {**row.derived, "size_bytes": size}
    row.vanished_at = None


def _is_renamed(row: Resource, one: FoundDatastore) -> bool:
    """Whether the name was given here, of those found before by host and device, for another."""
    if not row.discovered or row.identity.get("wanted") == one.name:
        return False
    if row.pk is None or row.name == row.identity.get("given"):
        return True
    own = {f"{at.host.name}/{at.device}" for at in row.attachments.all()}
    return not row.identity and row.name in own


def _kept_keys(row: Resource, one: FoundDatastore) -> list[str]:
    """Its keys now, and its own numbers of before that nobody tells at the moment."""
    kinds = {key.partition(":")[0] for key in one.keys}
    former = [
        key
        for key in row.identity.get("keys", ())
        if (kind := key.partition(":")[0]) in OWN_KEYS and kind not in kinds
    ]
    return [*one.keys, *former]


def _as_json(reason: Reason) -> dict[str, Any]:
    return {**asdict(reason), "places": [str(place) for place in reason.places]}


def _number(facts: Facts, places: Sequence[Place], name: str) -> float | None:
    """The first number that is stated of any of these places."""
    for place in places:
        text = facts.value(place, name) or ""
        if text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) > 0:
            return float(text)
    return None


def _columns(row: Resource) -> list[Any]:
    return [getattr(row, name) for name in _COLUMNS]


def _save(rows: Sequence[Resource], changed: Sequence[Resource]) -> None:
    """Write new and changed rows; names that change places go by another in between."""
    if changed:
        keys = [row.pk for row in changed]
        given = dict(Resource.objects.filter(pk__in=keys).values_list("pk", "name"))
        renamed = [row for row in changed if row.name != given[row.pk]]
        if {row.name for row in renamed} & set(given.values()):
            names = {row.pk: row.name for row in renamed}
            for row in renamed:
                row.name = f"~{row.pk}"
            update_rows(renamed, ["name"])
            for row in renamed:
                row.name = names[row.pk]
        update_rows(changed, _COLUMNS)
    Resource.objects.bulk_create([row for row in rows if row.pk is None], batch_size=1000)


def _attach(
    organisation: Organisation,
    found: Sequence[FoundDatastore],
    rows: Sequence[Resource],
    seen: Look,
) -> None:
    """Each measured device belongs to its datastore; what people attached stays."""
    attachments = Attachment.objects.filter(resource__organisation=organisation).order_by("pk")
    present = {
        (at.host.name, at.device): at for at in attachments.select_related("host", "resource")
    }
    new: list[Attachment] = []
    changed: list[Attachment] = []
    wanted: set[tuple[str, str]] = set()
    for one, row in zip(found, rows, strict=True):
        for place in _places(one, seen):
            wanted.add((place.host, place.subject))
            depth = _queue_depth(seen.facts, place)
            at = present.get((place.host, place.subject))
            if at is None:
                host = seen.hosts[place.host]
                at = Attachment(resource=row, host=host, device=place.subject, found=True)
                _set_depth(at, depth)
                new.append(at)
                continue
            moves = at.resource_id != row.pk and _is_free(at)
            if moves:
                at.resource = row
            if _set_depth(at, depth) or moves:
                changed.append(at)
    update_rows(changed, ["resource", "device_queue_depth", "derived_queue_depth"])
    Attachment.objects.bulk_create(new, batch_size=1000)
    _detach(present, wanted, seen)


def _take_along(emptied: Resource, resource: Resource) -> None:
    """What a person stated of a volume that turned out to be a datastore is of the datastore."""
    for one in Allocation.objects.filter(resource=emptied, found=False):
        same = Allocation.objects.filter(
            resource=resource, workload=one.workload_id, host=one.host_id, vdisk=one.vdisk
        )
        same.filter(found=True).delete()
        if not same.exists():
            one.resource = resource
            one.save(update_fields=["resource"])


def _is_free(at: Attachment) -> bool:
    """Whether nobody stated of which resource the device is, and it may be a datastore's."""
    traits = at.resource.traits
    may_be = traits.found_by_identity and traits.reader.measurement is DISKIO
    return may_be and (at.resource.discovered or at.found)


def _detach(
    present: dict[tuple[str, str], Attachment],
    wanted: set[tuple[str, str]],
    seen: Look,
) -> None:
    """Devices that are found to be layers, or no disks, do not count any more.

    One that is not seen keeps its place: its host may be silent, or say only what it has.
    """
    silent = {
        place
        for one in seen.storage.datastores
        for place in one.places
        if not seen.facts.is_seen(place)
    }
    known = {(p.host, p.subject) for p in seen.facts.places(Kind.DEVICE) if p not in silent}
    gone = [
        at.pk for key, at in present.items() if key in known and key not in wanted and _is_free(at)
    ]
    if gone:
        Attachment.objects.filter(pk__in=gone).delete()


def _queue_depth(facts: Facts, place: Place) -> int | None:
    for name in ("queue_depth", "nr_requests"):
        found = _number(facts, [place], name)
        if found is not None:
            return int(found)
    return None


def _set_depth(at: Attachment, depth: int | None) -> bool:
    """Take the depth that a host states, unless a person stated one; whether it changed."""
    if depth is None or depth == at.derived_queue_depth:
        return False
    if at.device_queue_depth in (None, at.derived_queue_depth):
        at.device_queue_depth = depth
    at.derived_queue_depth = depth
    return True
