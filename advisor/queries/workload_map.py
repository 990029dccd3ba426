"""Every workload with how it does now, in groups, for the map of squares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import F, Func, TextField, Value

from advisor.core.natural_order import natural_key
from advisor.core.tags import tag_text
from advisor.models import Incident, Resource, Team, Workload
from advisor.queries.allocation_columns import TIERS, present_allocations
from advisor.queries.packed import packed_columns
from advisor.queries.resources import NEAR, ResourceLine, read_lines
from advisor.queries.scope import Scope
from advisor.queries.tables import host_names
from advisor.queries.teams import owned_by, team_names
from advisor.resource_kinds.registry import stated_kinds

MOST_SQUARES = 3000
MOST_GROUPS = 40
TAG = "tag:"
"""Before the key of the tag in the name of a grouping."""


class Condition(StrEnum):
    """How a workload does, the worst first."""

    NOISY = "noisy"
    SLOWED = "slowed"
    CONGESTED = "congested"
    NEAR = "near"
    CLEAR = "clear"
    UNKNOWN = "unknown"


CONDITIONS = list(Condition)
_RANKS = {condition: rank for rank, condition in enumerate(CONDITIONS)}
_OF_RESOURCE = {
    "stalled": Condition.CONGESTED,
    "congested": Condition.CONGESTED,
    NEAR: Condition.NEAR,
    "clear": Condition.CLEAR,
    "unknown": Condition.UNKNOWN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """What workloads are put together by; `without` is the name of the group of the others."""

    name: str
    words: str
    without: str


_KINDS = {traits.words.area.lower(): traits.name for traits in stated_kinds().values()}
GROUPINGS = (
    *(Grouping(name=area, words=area, without=f"no {area}") for area in _KINDS),
    Grouping(name="host", words="host", without="no host"),
    Grouping(name="tier", words="tier", without="no tier"),
    Grouping(name="team", words="team", without="no team"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """One workload and its condition."""

    pk: int
    name: str
    condition: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class MapGroup:
    """Workloads with something in common, the worst first; `counts` are those by condition.

    `squares` may be fewer than `count`: the calmest are left out where there are too many.
    """

    name: str
    squares: tuple[Square, ...]
    counts: Mapping[Condition, int]

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    @property
    def left_out(self) -> int:
        return self.count - len(self.squares)

    @property
    def in_order(self) -> list[int]:
        """The numbers of each condition in the order of `CONDITIONS`."""
        return [self.counts.get(condition, 0) for condition in CONDITIONS]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inventory:
    """Keys, names and tiers of workloads; by key the resources and hosts that each is on."""

    seen: Sequence[tuple[int, str, str]]
    used: Mapping[int, set[int]]
    on: Mapping[int, set[int]]
    lines: Mapping[int, ResourceLine]


def grouping_of(name: str, keys: Collection[str]) -> Grouping:
    """The grouping of this name, with `keys` of tags that there are, or the first."""
    if name.startswith(TAG) and name.removeprefix(TAG) in keys:
        return tag_grouping(name.removeprefix(TAG))
    return next((one for one in GROUPINGS if one.name == name), GROUPINGS[0])


def tag_grouping(key: str) -> Grouping:
    """Workloads are put together by the value of this tag."""
    return Grouping(name=f"{TAG}{key}", words=f"tag {key}", without=f"without {key}")


def tag_keys(scope: Scope) -> list[str]:
    """The keys of all tags of workloads."""
    text = TextField()
    tag = Func(F("tags"), function="jsonb_array_elements_text", output_field=text)
    key = Func(tag, Value("="), Value(1), function="split_part", output_field=text)
    return sorted(scope.rows(Workload).order_by().values_list(key, flat=True).distinct())


def workload_map(
    scope: Scope, grouping: Grouping, *, now: datetime, team: Team | None = None
) -> list[MapGroup]:
    """The groups, those with the worst first; a fixed number of statements.

    A workload stands in each group that it belongs to, so with two datastores it stands in two.
    """
    found = _inventory(scope, now, team)
    noisy, slowed = _parties(scope, found.lines)
    squares = {}
    for pk, name, _ in found.seen:
        # A workload without an allocation is gone, or nothing of it is shared.
        if pk in found.used:
            lines = [found.lines[one] for one in found.used[pk] if one in found.lines]
            condition = _condition(name, noisy, slowed, lines)
            squares[pk] = Square(pk=pk, name=name, condition=condition)
    return _grouped(grouping, squares, _groups(scope, grouping, found))


def _inventory(scope: Scope, now: datetime, team: Team | None) -> _Inventory:
    rows = scope.rows(Workload)
    if team is not None:
        rows = owned_by(rows, team)
    (keys,), (names, tiers) = packed_columns(rows, "pk", texts=("name", "tier"))
    (of, resources, hosts), _ = packed_columns(
        present_allocations(scope), "workload_id", "resource_id", "host_id"
    )
    used: dict[int, set[int]] = defaultdict(set)
    on: dict[int, set[int]] = defaultdict(set)
    for pk, resource, host in zip(of.tolist(), resources.tolist(), hosts.tolist(), strict=True):
        used[pk].add(resource)
        on[pk].add(host)
    return _Inventory(
        seen=list(zip(keys.tolist(), names, tiers, strict=True)),
        used=used,
        on=on,
        lines={line.pk: line for line in read_lines(scope, now=now)},
    )


def _groups(scope: Scope, grouping: Grouping, found: _Inventory) -> Mapping[int, Sequence[str]]:
    """By workload the names of its groups."""
    match grouping.name:
        case area if kind := _KINDS.get(area):
            return _named(
                found.used, {pk: one.name for pk, one in found.lines.items() if one.kind == kind}
            )
        case "host":
            return _named(found.on, {pk: host.name for pk, host in host_names(scope).items()})
        case "tier":
            return {pk: [tier] for pk, _, tier in found.seen}
        case "team":
            return team_names(scope)
    return _values(scope, grouping.name.removeprefix(TAG))


def _named(of: Mapping[int, set[int]], names: Mapping[int, str]) -> dict[int, list[str]]:
    return {pk: [names[one] for one in own if one in names] for pk, own in of.items()}


def _parties(scope: Scope, lines: Mapping[int, ResourceLine]) -> tuple[set[str], set[str]]:
    """The names of noisy neighbours and of those they slow, where it goes on now."""
    noisy: set[str] = set()
    slowed: set[str] = set()
    rows = Incident.objects.filter(resource__in=scope.rows(Resource), ended_at=None)
    for resource, aggressors, victims in rows.values_list("resource", "aggressors", "victims"):
        # Nobody knows whether it goes on where samples stopped.
        if resource in lines and lines[resource].state != "unknown":
            noisy |= {one["workload"] for one in aggressors}
            slowed |= {one["workload"] for one in victims}
    return noisy, slowed


def _condition(
    name: str, noisy: set[str], slowed: set[str], lines: Sequence[ResourceLine]
) -> Condition:
    if name in noisy:
        return Condition.NOISY
    if name in slowed:
        return Condition.SLOWED
    found = [_OF_RESOURCE[line.shown_state] for line in lines]
    return min(found, key=_RANKS.__getitem__, default=Condition.UNKNOWN)


def _values(scope: Scope, key: str) -> dict[int, list[str]]:
    """By workload the values of its tags of this key."""
    begin = tag_text(key, "")
    return {
        pk: [tag.removeprefix(begin) for tag in tags if tag.startswith(begin)]
        for pk, tags in scope.rows(Workload).order_by().values_list("pk", "tags")
    }


def _grouped(
    grouping: Grouping, squares: Mapping[int, Square], groups: Mapping[int, Sequence[str]]
) -> list[MapGroup]:
    members: dict[str, list[Square]] = defaultdict(list)
    ordered = sorted(
        squares.values(), key=lambda one: (_RANKS[one.condition], natural_key(one.name))
    )
    for square in ordered:
        for name in groups.get(square.pk) or [grouping.without]:
            members[name].append(square)
    names = sorted(members, key=lambda name: _place(grouping, name, members[name]))
    if len(names) > MOST_GROUPS:
        rest = names[MOST_GROUPS - 1 :]
        names = [*names[: MOST_GROUPS - 1], f"{len(rest)} others"]
        together = {one.pk: one for name in rest for one in members[name]}
        members[names[-1]] = sorted(together.values(), key=lambda one: _RANKS[one.condition])
    return list(_bounded([(name, members[name]) for name in names]))


def _place(grouping: Grouping, name: str, own: Sequence[Square]) -> tuple[object, ...]:
    """Tiers stand in their order; of others those with the most harmed first."""
    if grouping.name == "tier":
        return (TIERS.index(name),)  # type: ignore[arg-type]  # its text equals the tier
    counts = [-sum(one.condition == condition for one in own) for condition in CONDITIONS[:4]]
    return (name == grouping.without, *counts, natural_key(name))


def _bounded(members: Iterable[tuple[str, Sequence[Square]]]) -> Iterable[MapGroup]:
    """The groups; where there are too many squares, the calm ones of each are left out alike."""
    groups = list(members)
    every = sum(len(own) for _, own in groups)
    share = min(1.0, MOST_SQUARES / max(every, 1))
    for name, own in groups:
        counts: dict[Condition, int] = defaultdict(int)
        for one in own:
            counts[one.condition] += 1
        shown = own[: max(1, int(len(own) * share))]
        yield MapGroup(name=name, squares=tuple(shown), counts=dict(counts))
