"""What has to be made, changed and removed so that what is becomes what is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from advisor.core.resource import Unit
from advisor.decisions.policy_file.decide.document import (
    LISTED,
    AllocationEntry,
    Entry,
    Place,
    PolicyFile,
    PoolEntry,
    ResourceEntry,
    RolloutEntry,
)
from advisor.decisions.policy_file.decide.entry_checks import ordered
from advisor.decisions.policy_file.decide.shape import is_record, shapes_of
from advisor.decisions.policy_file.decide.write import plain_record
from advisor.resource_kinds.registry import traits_of


class Verb(StrEnum):
    MADE = "made"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting that differs, as it is written in a file; None is absent."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change; `before` is None where it is made, `after` where it is removed.

    Of the sections `rules`, `alarm_budget` and `rollouts` they are the value, of others the entry.
    """

    section: str
    key: str
    verb: Verb
    before: Any
    after: Any
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What is: all sections as people stated them, and beside them what was found.

    `found_places` are hosts and devices; `derived` what facts gave a resource, by its name and
    field; `derived_depths` the queue depths that hosts say.
    """

    document: PolicyFile
    found_places: frozenset[tuple[str, str]] = frozenset()
    derived: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    derived_depths: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def units(self) -> dict[str, Unit]:
        """The unit of each resource."""
        return units_of(self.document)


def units_of(document: PolicyFile) -> dict[str, Unit]:
    """The unit of each resource that the document has."""
    return {one.name: one.unit for one in document.resources or () if one.unit is not None}


def difference(wanted: PolicyFile, present: Present) -> tuple[Change, ...]:
    """The changes; a section that is left out has none.

    What was found and is not named stays: it would only be found again.
    """
    units = {**present.units, **units_of(wanted)}
    found: list[Change] = []
    for section in _NOTHING:
        found += _of_value(section, getattr(wanted, section), getattr(present.document, section))
    for section in LISTED:
        entries = getattr(wanted, section)
        if entries is not None:
            before = getattr(present.document, section)
            found += _of_entries(section, entries, before, present, units)
    return tuple(found)


_NOTHING: Mapping[str, Any] = {"rules": "", "alarm_budget": "none", "rollouts": RolloutEntry()}


def _of_value(section: str, wanted: Any, present: Any) -> Iterator[Change]:
    if wanted is None or wanted == present:
        return
    nothing = _NOTHING[section]
    verb = Verb.MADE if present == nothing else Verb.REMOVED if wanted == nothing else Verb.CHANGED
    settings = tuple(_settings(present, wanted, {})) if is_record(type(wanted)) else ()
    yield Change(
        section=section, key="", verb=verb, before=present, after=wanted, settings=settings
    )


def _of_entries(
    section: str,
    wanted: Sequence[Entry],
    present: Sequence[Entry],
    whole: Present,
    units: Mapping[str, Unit],
) -> Iterator[Change]:
    before = {one.key: one for one in present}
    after = {one.key: one for one in wanted}
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if new is None:
            if not getattr(old, "found", False):
                yield Change(section=section, key=key, verb=Verb.REMOVED, before=old, after=None)
        elif old is None:
            yield Change(section=section, key=key, verb=Verb.MADE, before=None, after=new)
        else:
            meant = new
            if isinstance(new, ResourceEntry) and isinstance(old, ResourceEntry):
                meant = _beside_found(new, old, whole)
            settings = tuple(_settings(old, meant, units))
            if settings:
                yield Change(
                    section=section,
                    key=key,
                    verb=Verb.CHANGED,
                    before=old,
                    after=meant,
                    settings=settings,
                )


def _beside_found(new: ResourceEntry, old: ResourceEntry, whole: Present) -> ResourceEntry:
    """The entry beside what was found: devices stay, and a figure that facts give says nothing."""
    derived = whole.derived.get(new.name, {})
    same = {
        name: None
        for name, value in derived.items()
        if getattr(old, name) is None and getattr(new, name) == value
    }
    before = {(at.host, at.device): at for at in old.reached_by}
    after = {(at.host, at.device): at for at in new.reached_by}
    for key, at in before.items():
        new_at = after.get(key)
        stays = key in whole.found_places if new_at is None else _is_derived(new_at, at, whole)
        if stays:
            after[key] = at
    places = tuple(after[key] for key in sorted(after))
    return replace(new, reached_by=places, **same)  # type: ignore[arg-type]  # Names of floats.


def _is_derived(new: Place, old: Place, whole: Present) -> bool:
    derived = whole.derived_depths.get((old.host, old.device))
    return old.queue_depth is None and new.queue_depth == derived


def _settings(
    old: Entry | RolloutEntry, new: Entry | RolloutEntry, units: Mapping[str, Unit]
) -> Iterator[Setting]:
    before, after = plain_record(old, dict(units)), plain_record(new, dict(units))
    for key, shape in shapes_of(type(new)).items():
        if shape.is_compared and getattr(old, shape.name) != getattr(new, shape.name):
            yield Setting(key=key, before=before.get(key), after=after.get(key))


def after_changes(document: PolicyFile, changes: Sequence[Change]) -> PolicyFile:
    """The document with the changes made."""
    entries = {name: {one.key: one for one in getattr(document, name)} for name in LISTED}
    values: dict[str, Any] = {}
    for one in changes:
        if one.section not in LISTED:
            values[one.section] = one.after
        elif one.after is None:
            del entries[one.section][one.key]
        else:
            entries[one.section][one.key] = one.after
    values |= {name: tuple(found.values()) for name, found in entries.items()}
    return ordered(replace(document, **values))


def removable(wanted: PolicyFile, present: Present) -> int:
    """How many things of the sections that the file has are there to be removed."""
    count = 0
    for section, nothing in _NOTHING.items():
        if getattr(wanted, section) is not None:
            count += getattr(present.document, section) != nothing
    for section in LISTED:
        if getattr(wanted, section) is not None:
            entries = getattr(present.document, section)
            count += sum(not getattr(one, "found", False) for one in entries)
    return count


def removals(changes: Sequence[Change]) -> int:
    """How many things the changes remove."""
    return sum(one.verb is Verb.REMOVED for one in changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """What an entry of the file, or one that stays, cannot be after the changes."""

    section: str
    key: str
    what: str


def conflicts(wanted: PolicyFile, present: Present) -> Iterator[Conflict]:
    """What names a resource that is not there afterwards, and what cannot change."""
    before = {one.name: one for one in present.document.resources or ()}
    after = dict(before)
    if wanted.resources is not None:
        stay = {name: one for name, one in before.items() if one.found}
        after = {**stay, **{one.name: one for one in wanted.resources}}
    for name, one in after.items():
        old = before.get(name)
        for setting in ("kind", "unit"):
            if old is not None and getattr(old, setting) != getattr(one, setting):
                what = f"the {setting} of {name} cannot change; give the resource another name"
                yield Conflict(section="resources", key=name, what=what)
        if old is not None:
            yield from _of_places(one, old, present)
    yield from _without_resource(wanted, present, after)
    yield from _of_notifications(wanted, present, after)
    yield from _of_reports(wanted, present)


def _of_places(new: ResourceEntry, old: ResourceEntry, present: Present) -> Iterator[Conflict]:
    """What was found stays, so another device would come beside it."""
    places = _beside_found(new, old, present).reached_by
    rule = traits_of(new.kind).one_device
    if rule and len(places) > 1:
        found = ", ".join(f"{at.host}:{at.device}" for at in places if at not in new.reached_by)
        what = f"{rule}; {new.name} was found at {found}; give the resource another name"
        yield Conflict(section="resources", key=new.name, what=what)


def _without_resource(
    wanted: PolicyFile, present: Present, resources: Mapping[str, ResourceEntry]
) -> Iterator[Conflict]:
    for entry in wanted.allocations or ():
        yield from _beside("allocations", entry, resources)
    for pool in wanted.pools or ():
        yield from _beside("pools", pool, resources)
    windows = wanted.maintenance
    for window in (present.document.maintenance if windows is None else windows) or ():
        for name in window.resources:
            if name not in resources:
                what = f'the maintenance window "{window.name}" names "{name}", which is no '
                what += (
                    "resource" if windows is not None else "resource any more; it would cover all"
                )
                section = "maintenance" if windows is not None else "resources"
                yield Conflict(section=section, key=window.key, what=what)
    rules = wanted.ladder
    for rule in (present.document.ladder if rules is None else rules) or ():
        if rule.resource and rule.resource not in resources:
            what = f'the rule "{rule.name}" of the ladder names "{rule.resource}", which is no '
            what += "resource" if rules is not None else "resource any more; it would go with it"
            section = "ladder" if rules is not None else "resources"
            yield Conflict(section=section, key=rule.key, what=what)


def _of_notifications(
    wanted: PolicyFile, present: Present, resources: Mapping[str, ResourceEntry]
) -> Iterator[Conflict]:
    """Rules that name what is not there; a team that was gone before is no news."""
    rules, before = wanted.notifications, present.document.notifications or ()
    had = {one.name for one in present.document.teams or ()}
    has = had if wanted.teams is None else {one.name for one in wanted.teams}
    for rule in before if rules is None else rules:
        named = f'the rule "{rule.name}" of notifications names'
        for name in rule.resources:
            if name not in resources:
                what = f'{named} "{name}", which is no resource'
                if rules is None:
                    what += " any more; it would tell of all"
                section = "resources" if rules is None else "notifications"
                yield Conflict(section=section, key=rule.key, what=what)
        for name in rule.teams:
            if name not in has and (name in had or rule not in before):
                what = f'{named} the team "{name}", which is none'
                section = "teams" if rules is None else "notifications"
                yield Conflict(section=section, key=rule.key, what=what)


def _of_reports(wanted: PolicyFile, present: Present) -> Iterator[Conflict]:
    """Reports of a team that is not there, or that would go with its team."""
    reports = wanted.reports
    had = {one.name for one in present.document.teams or ()}
    has = had if wanted.teams is None else {one.name for one in wanted.teams}
    for one in (present.document.reports if reports is None else reports) or ():
        if one.team and one.team not in has:
            what = f'the report "{one.name}" is of the team "{one.team}", which is none'
            what += " any more; it would go with it" if reports is None else ""
            section = "teams" if reports is None else "reports"
            yield Conflict(section=section, key=one.key, what=what)


def _beside(
    section: str, entry: AllocationEntry | PoolEntry, resources: Mapping[str, ResourceEntry]
) -> Iterator[Conflict]:
    if entry.resource not in resources:
        what = f'there is no resource "{entry.resource}"'
        yield Conflict(section=section, key=entry.key, what=what)
